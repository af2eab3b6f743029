//! What decision records call their parts and their statuses, and how they say which record replaces which, in several
//! languages: English, German, Spanish, Portuguese, French, Italian, Japanese, Chinese, Korean and Russian.
//!
//! The words of a list are in lower case, with a `|` between them. A word with a `*` has any ending.

use crate::text::letters;

/// The parts of a record: its sections, and the values in its lines, its tables and its frontmatter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordPart {
    Status,
    Date,
    Decision,
    /// The records that it replaces.
    Replaces,
    /// The record that replaces it.
    ReplacedBy,
    /// The records that it has to do with.
    Links,
    /// A part that only tells where the others end.
    Other,
}

const PARTS: [(RecordPart, &str); 7] = [
    (RecordPart::Status, "status|estado|statut|stato|ステータス|状態|状态|狀態|상태|статус"),
    (RecordPart::Date, "date|datum|fecha|data|日付|日期|날짜|дата"),
    (
        RecordPart::Decision,
        "decision|decision outcome|decisions|the decision|our decision|proposed decision|resolution|entscheidung|\
         getroffene entscheidung|entscheidungsergebnis|decisión|decisão|décision|decisione|決定|決定事項|决策|决定|決策|결정|решение",
    ),
    (RecordPart::Replaces, "supersedes|supercedes|replaces|obsoletes|ersetzt|reemplaza|substitui|remplace|sostituisce"),
    (
        RecordPart::ReplacedBy,
        "superseded by|superceded by|replaced by|obsoleted by|ersetzt durch|abgelöst durch|reemplazado por|reemplazada por|\
         sustituida por|substituído por|substituída por|remplacé par|remplacée par|sostituita da|sostituito da",
    ),
    (RecordPart::Links, "links|related|related decisions|related adrs|related records|references|relations|referenzen"),
    (
        RecordPart::Other,
        "context|consequences|rationale|alternatives|kontext|konsequenzen|begründung|alternativen|\
         betrachtete alternativen|contexto|consecuencias|consequências|contexte|conséquences|contesto|\
         conseguenze|背景|コンテキスト|結果|影響|后果|影响|맥락|결과|контекст|последствия",
    ),
];

/// The statuses, those that come later in the life of a record behind those before them, with the phrases that mean them.
const STATUSES: [(&str, &str); 10] = [
    (
        "draft",
        "draft|wip|work in progress|idea|entwurf|borrador|rascunho|brouillon|bozza|ドラフト|草案|草稿|초안|черновик",
    ),
    ("experimental", "experimental|trial"),
    ("provisional", "provisional|tentative"),
    ("pending", "pending|on hold|deferred|postponed|parked|stalled|保留|搁置|보류"),
    (
        "proposed",
        "proposed|proposal|in review|under review|in discussion|under discussion|to be decided|to be discussed|tbd|open|\
         undecided|rfc|request for comments|in progress|awaiting approval|awaiting review|waiting for approval|needs review|\
         vorgeschlagen|vorschlag|in prüfung|propuest*|en revisión|propost*|em revisão|proposé*|propositi*|in revisione|提案|検討中|\
         レビュー中|未承認|未採用|已提议|提议|建议|审核中|评审中|未接受|未批准|제안|검토|미승인|предложен*|на рассмотрении",
    ),
    (
        "accepted",
        "accepted|approved|adopted|agreed|decided|ratified|final|finalized|implemented|active|in force|in effect|in use|\
         effective|valid|akzeptiert|angenommen|beschlossen|genehmigt|gültig|aceptad*|aprobad*|vigente|aceit*|aceito|aprovad*|\
         accepté*|approuvé*|adopté*|accettat*|approvat*|承認|採用|採択|已接受|接受|已采纳|已批准|已通过|승인|채택|принят*|утвержден*|\
         утверждён*",
    ),
    (
        "rejected",
        "rejected|declined|abandoned|cancelled|canceled|unaccepted|unapproved|won't do|won't fix|wont do|wontfix|will not do|\
         refused|abgelehnt|verworfen|rechazad*|rejeitad*|recusad*|rejeté*|refusé*|rifiutat*|respint*|却下|不採用|已拒绝|拒绝|거부|\
         기각|отклонен*|отклонён*",
    ),
    ("withdrawn", "withdrawn|retracted|zurückgezogen|retirad*|retiré*|ritirat*|撤回|철회|отозван*"),
    (
        "deprecated",
        "deprecated|obsolete|obsoleted|outdated|retired|expired|stale|veraltet|obsolet*|depreciad*|desaconsejad*|déprécié*|\
         deprecat*|非推奨|廃止|已弃用|已废弃|弃用|폐기|устарел*",
    ),
    (
        "superseded",
        "superseded|superceded|replaced|ersetzt|abgelöst|sustituid*|reemplazad*|substituíd*|remplacé*|sostituit*|superat*|\
         置き換え|置換|已取代|已被取代|被取代|已替代|대체|заменен*|заменён*",
    ),
];

/// What turns the phrase of an accepted record into another status.
const NEGATIONS: [(&str, &str); 14] = [
    ("not yet", "proposed"),
    ("to be", "proposed"),
    ("noch nicht", "proposed"),
    ("no longer", "deprecated"),
    ("not", "rejected"),
    ("never", "rejected"),
    ("nicht mehr", "deprecated"),
    ("nicht", "rejected"),
    ("no", "rejected"),
    ("não", "rejected"),
    ("non", "rejected"),
    ("pas", "rejected"),
    ("не", "rejected"),
    ("not to be", "rejected"),
];

/// How a record says what replaces what: `@` stands for the records that it names.
const SUPERSESSIONS: [(RecordPart, &str); 2] = [
    (
        RecordPart::ReplacedBy,
        "superseded by @|superceded by @|superseded-by @|replaced by @|replaced with @|obsoleted by @|deprecated by @|\
         deprecated in favor of @|deprecated in favour of @|ersetzt durch @|abgelöst durch @|abgelöst von @|durch @ ersetzt|\
         durch @ abgelöst|reemplazado por @|reemplazada por @|sustituido por @|sustituida por @|substituído por @|\
         substituída por @|remplacé par @|remplacée par @|sostituito da @|sostituita da @|superato da @|superata da @|\
         @に置き換えられた|@に置き換えられました|@に置き換え済み|@に置き換え|@により置き換えられた|@により置き換え|@により廃止|@によって置き換えられた|\
         @によって廃止|@に置換|已被@取代|被@取代|已由@取代|由@取代|已被@替代|被@替代|已由@替代|由@替代|已被@代替|被@代替|@로 대체됨|\
         @으로 대체됨|@로 대체되었음|@로 대체되었습니다|@로 대체|@에 의해 대체됨|заменен @|заменён @|заменена @|заменено @|\
         заменен на @|заменён на @|заменена на @|заменено на @",
    ),
    (
        RecordPart::Replaces,
        "supersedes @|supercedes @|superseding @|replaces @|replacing @|obsoletes @|ersetzt @|löst @ ab|reemplaza @|\
         reemplaza a @|sustituye @|sustituye a @|substitui @|substitui a @|substitui o @|remplace @|remplace l'@|sostituisce @|\
         sostituisce l'@|@を置き換え|@を置き換える|@を置き換えます|@を置き換えた|@を置換|取代@|取代了@|替代@|替代了@|代替@|@을 대체함|\
         @를 대체함|@을 대체|@를 대체|@을 대체합니다|@를 대체합니다|заменяет @",
    ),
];

/// What may be between two records.
pub(super) const AND: [&str; 13] =
    [", and ", ",", "and ", "&", "、", "，", "und ", "et ", "y ", "e ", "和", "と", "и "];
/// The words that may be before a status or a supersession, and change nothing of it.
const LEADS: &str = "this|the|it|which|adr|decision|record|document|has|been|is|was|are|now|also|and|but|note|warning|caution|\
    important|currently|dieser|diese|dieses|wurde|und|ist|ha|sido|fue|foi|y|e|été|est|a|et|è|stata|stato|本adrは|이|본";
/// The words that may follow a status of which more is told.
const FOLLOWING: &str =
    "by|on|since|in|at|for|with|as|from|until|after|because|due|and|but|von|am|seit|por|par|da|durch";
/// The words that say of a whole sentence that it holds in part, or under a condition.
const LIMITS: &str = "only|but|except|unless|until|if|when|once|pending|planned|partial*|partly|part|parts|section|sections|some|\
    still|stays|remains|teilweise|teile|nur|außer|aber|wenn|falls|parcial*|solo|sólo|parte|partes|excepto|pero|si|só|apenas|mas|\
    exceto|se|partiel*|seulement|sauf|mais|parzial*|tranne|ma|частично|только|кроме|но|если";
/// What says the same within a word: the words of languages without spaces, and what asks.
const LIMITS_INSIDE: [&str; 10] = ["?", "？", "一部", "部分", "のみ", "だけ", "予定", "일부", "부분", "예정"];
/// The words that begin what limits the clause before them.
const RESTS: &str = "for|in|within|during|as|at|where|to|für|im|para|en|em|pour|dans|per|для|в";

impl RecordPart {
    /// Returns the part that a heading, a key or the name of a value means.
    pub(super) fn of(name: &str) -> Option<RecordPart> {
        let name = letters(name);
        PARTS.iter().find(|(_, names)| names.split('|').any(|known| letters(known) == name)).map(|(part, _)| *part)
    }

    /// Returns the words with which a sentence says the same as the value of a field.
    pub(super) fn verb(self) -> &'static str {
        if self == RecordPart::ReplacedBy { "superseded by" } else { "supersedes" }
    }
}

/// Returns the status with which a text begins, by its longest phrase, and the rest of the text.
pub(super) fn status_at(text: &str) -> Option<(&'static str, &str)> {
    let negated = NEGATIONS.iter().filter_map(|(negation, status)| {
        let (found, rest) = status_at(text.strip_prefix(negation)?.strip_prefix(' ')?)?;
        (found == "accepted").then_some((*status, rest))
    });
    let plain = STATUSES.iter().flat_map(|(status, phrases)| {
        phrases.split('|').filter_map(move |phrase| Some((*status, without_phrase(text, phrase)?)))
    });
    negated.chain(plain).min_by_key(|(_, rest)| rest.len())
}

/// Returns how late in the life of a record a status is.
pub(super) fn order_of(status: &str) -> Option<usize> {
    STATUSES.iter().position(|(known, _)| *known == status)
}

/// Returns what is before and behind the records in each form of a supersession.
pub(super) fn supersessions() -> impl Iterator<Item = (RecordPart, &'static str, &'static str)> {
    SUPERSESSIONS.iter().flat_map(|(part, forms)| {
        forms
            .split('|')
            .filter_map(|form| form.split_once('@').map(|(before, behind)| (*part, before.trim(), behind.trim())))
    })
}

/// Returns a text without the words at its beginning that change nothing.
pub(super) fn without_leads(mut text: &str) -> &str {
    let next = |text: &'_ str| {
        LEADS.split('|').find_map(|lead| {
            Some(lead.len()).filter(|_| {
                without_phrase(text, lead).is_some_and(|rest| rest.starts_with([' ', ',']))
                    || is_wide(lead) && text.starts_with(lead)
            })
        })
    };
    while let Some(length) = next(text) {
        text = text[length..].trim_start_matches([' ', ',']);
    }
    text
}

/// Returns whether a text may follow a status.
pub(super) fn follows_status(text: &str) -> bool {
    is_among(text.split_whitespace().next().unwrap_or_default(), FOLLOWING)
}

/// Returns whether a sentence holds in part, or under a condition.
pub(super) fn is_limited(sentence: &str) -> bool {
    words_of(sentence).any(|word| is_among(word, LIMITS)) || LIMITS_INSIDE.iter().any(|word| sentence.contains(word))
}

/// Returns whether the first word of a text limits what is before it.
pub(super) fn begins_limit(text: &str) -> bool {
    words_of(text).next().is_some_and(|word| is_among(word, LIMITS) || is_among(word, RESTS))
}

fn words_of(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty())
}

fn is_among(word: &str, words: &str) -> bool {
    words.split('|').any(|known| without_phrase(word, known).is_some_and(str::is_empty))
}

/// Returns what is behind a phrase at the beginning of a text. Languages without spaces have endings, too.
fn without_phrase<'t>(text: &'t str, phrase: &str) -> Option<&'t str> {
    let stem = phrase.trim_end_matches('*');
    let rest = text.strip_prefix(stem)?;
    let has_ending = stem.len() < phrase.len() || is_wide(stem);
    let ending = rest.find(|letter: char| !letter.is_alphabetic()).unwrap_or(rest.len());
    if has_ending {
        return (rest[..ending].chars().count() <= 6).then(|| &rest[ending..]);
    }
    (!rest.starts_with(char::is_alphanumeric)).then_some(rest)
}

/// Returns whether a word is of a language without spaces, or with endings at every word.
fn is_wide(word: &str) -> bool {
    word.starts_with(|first: char| first > '\u{1100}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_of_many_languages_mean_the_english_ones() {
        for (words, expected) in [
            (
                "accepted akzeptiert angenommen aceptado aceito accepté accettato 承認 承認済み 採用 已接受 принято 승인됨",
                Some("accepted"),
            ),
            ("proposed vorgeschlagen propuesto proposto proposé proposta 提案中 предложено", Some("proposed")),
            ("rejected abgelehnt rechazado rejeitado rejeté rifiutato 却下 已拒绝 отклонено", Some("rejected")),
            (
                "superseded superceded ersetzt abgelöst reemplazado substituído remplacé sostituito 已取代 заменено",
                Some("superseded"),
            ),
            ("deprecated veraltet obsoleto déprécié 非推奨 已弃用 устарело", Some("deprecated")),
            ("resolved reject acceptance non pas", None),
        ] {
            for word in words.split(' ') {
                assert_eq!(status_at(word).map(|(status, _)| status), expected, "{word}");
            }
        }
    }
}
