// An HTTP front of the MCP server, for the conformance suite, which tests by address alone. It passes messages on to the real program,
// and adds what belongs to the HTTP transport: sessions, headers, status codes, and the refusal of foreign hosts. No part of what is shipped.
//
// Usage: node front.mjs PORT PROGRAM ROOT

import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';

const [port, program, root] = process.argv.slice(2);
const MODERN = '2026-07-28';
const VERSION = 'io.modelcontextprotocol/protocolVersion';

/// One running program. Requests of several clients may have the same id, so each gets one of its own on the way.
class Server {
  constructor() {
    this.child = spawn(program, ['mcp', '--root', root], { stdio: ['pipe', 'pipe', 'inherit'] });
    this.waiting = new Map();
    this.next = 1;
    createInterface({ input: this.child.stdout }).on('line', (line) => {
      const message = JSON.parse(line);
      const waiting = this.waiting.get(message.id);
      if (!waiting) return console.error('not asked for:', line);
      this.waiting.delete(message.id);
      waiting.answer({ ...message, id: waiting.id });
    });
  }
  tell(message) {
    this.child.stdin.write(`${JSON.stringify(message)}\n`);
  }
  ask(message) {
    const id = this.next++;
    return new Promise((answer) => {
      this.waiting.set(id, { id: message.id, answer });
      this.tell({ ...message, id });
    });
  }
  end() {
    this.child.stdin.end();
  }
}

const sessions = new Map();
// Requests of 2026-07-28 belong to no session.
let shared;

const name = { 'tools/call': 'name', 'prompts/get': 'name', 'resources/read': 'uri' };

/// Returns what is wrong with the headers of a request of 2026-07-28.
function mismatch(message, headers) {
  const wanted = {
    'mcp-protocol-version': message.params?._meta?.[VERSION],
    'mcp-method': message.method,
    'mcp-name': name[message.method] && message.params?.[name[message.method]],
  };
  for (const [header, value] of Object.entries(wanted)) {
    let sent = headers[header];
    const encoded = /^=\?base64\?(.*)\?=$/i.exec(sent ?? '');
    if (encoded) sent = Buffer.from(encoded[1], 'base64').toString();
    if (value !== undefined && sent?.trim() !== value) return `header ${header} is ${sent}, and the body says ${value}`;
  }
}

function status(answer) {
  switch (answer.error?.code) {
    case -32601:
      return 404;
    case -32020:
    case -32021:
    case -32022:
    case -32600:
    case -32700:
      return 400;
    case -32602:
      return answer.error.message.includes('_meta') ? 400 : 200;
    default:
      return 200;
  }
}

async function post(request, reply) {
  let body = '';
  for await (const piece of request) body += piece;
  const error = (code, status, message, id = null) => reply(status, { jsonrpc: '2.0', id, error: { code, message } });
  let message;
  try {
    message = JSON.parse(body);
  } catch {
    return error(-32700, 400, 'this is no JSON');
  }
  const version = message.params?._meta?.[VERSION] ?? request.headers['mcp-protocol-version'];
  const id = request.headers['mcp-session-id'];
  const isRequest = message.id !== undefined && message.method !== undefined;
  if (message.method === 'initialize') {
    const server = new Server();
    const answer = await server.ask(message);
    if (answer.error) return server.end(), reply(status(answer), answer);
    const session = randomUUID();
    sessions.set(session, server);
    return reply(200, answer, { 'mcp-session-id': session });
  }
  if (id !== undefined && !sessions.has(id)) return error(-32600, 404, 'there is no such session', message.id);
  if (id === undefined && message.params?._meta === undefined && version !== undefined && version < MODERN)
    return error(-32600, 400, 'a session is needed', message.id);
  const server = id === undefined ? (shared ??= new Server()) : sessions.get(id);
  if (!isRequest) {
    server.tell(message);
    return reply(202);
  }
  if (id === undefined) {
    const wrong = mismatch(message, request.headers);
    if (wrong) return error(-32020, 400, wrong, message.id);
  }
  const answer = await server.ask(message);
  return reply(id === undefined ? status(answer) : 200, answer);
}

const http = createServer((request, response) => {
  const reply = (status, body, headers = {}) => {
    response.writeHead(status, { ...(body && { 'content-type': 'application/json' }), ...headers });
    response.end(body && JSON.stringify(body));
  };
  const isLocal = (host) => /^(https?:\/\/)?(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/.test(host ?? '');
  if (!isLocal(request.headers.host) || (request.headers.origin && !isLocal(request.headers.origin))) return reply(403);
  if (request.method === 'POST') return void post(request, reply).catch((error) => (console.error(error), reply(500)));
  const session = sessions.get(request.headers['mcp-session-id']);
  if (request.method === 'DELETE' && session) {
    session.end();
    sessions.delete(request.headers['mcp-session-id']);
    return reply(204);
  }
  reply(405, undefined, { allow: 'POST, DELETE' });
});
http.listen(Number(port), '127.0.0.1', () => console.log('ready'));
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => process.exit(0));
