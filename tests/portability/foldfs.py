"""A file system as on macOS, for tests on Linux: names differ neither in case nor in their Unicode form.

`foldfs.py BACKING MOUNT [nfd]` shows the folder BACKING at MOUNT. Names are kept as they were given, as APFS does, or in NFD, as HFS+
does. It needs FUSE, and mfusepy from PyPI.
"""

import errno
import os
import sys
import unicodedata

import mfusepy


def fold(name):
    return unicodedata.normalize("NFD", unicodedata.normalize("NFD", name).casefold())


class FoldingFileSystem(mfusepy.Operations):
    use_ns = True

    def __init__(self, backing, keeps_nfd):
        self.backing = os.path.realpath(backing)
        self.keeps_nfd = keeps_nfd

    def real(self, path):
        """Returns the path of what is there under another spelling of the name, else the path that a new file gets."""
        full = self.backing
        for part in path.strip("/").split("/"):
            if not part:
                continue
            named = os.path.join(full, unicodedata.normalize("NFD", part) if self.keeps_nfd else part)
            if not os.path.lexists(named):
                try:
                    there = (name for name in os.listdir(full) if fold(name) == fold(part))
                    named = os.path.join(full, next(there, os.path.basename(named)))
                except (FileNotFoundError, NotADirectoryError):
                    pass
            full = named
        return full

    def new(self, path):
        """Returns the path that a file gets by a rename, which may change the spelling of its own name."""
        folder, name = os.path.split(path.rstrip("/"))
        return os.path.join(self.real(folder), unicodedata.normalize("NFD", name) if self.keeps_nfd else name)

    def getattr(self, path, fh=None):
        stat = os.fstat(fh) if fh is not None else os.lstat(self.real(path))
        names = ("st_atime_ns", "st_mtime_ns", "st_ctime_ns")
        result = {name[:-3]: getattr(stat, name) for name in names}
        for name in ("st_mode", "st_nlink", "st_uid", "st_gid", "st_size", "st_ino", "st_blocks"):
            result[name] = getattr(stat, name)
        return result

    def access(self, path, amode):
        if not os.access(self.real(path), amode, follow_symlinks=False):
            raise mfusepy.FuseOSError(errno.EACCES)

    def readdir(self, path, fh):
        found = [(".", None, 0), ("..", None, 0)]
        with os.scandir(self.real(path)) as entries:
            for entry in entries:
                stat = entry.stat(follow_symlinks=False)
                # Readers skip a name without a number.
                found.append((entry.name, {"st_ino": stat.st_ino, "st_mode": stat.st_mode}, 0))
        return found

    def readlink(self, path):
        return os.readlink(self.real(path))

    def create(self, path, mode, fi=None):
        return os.open(self.real(path), os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)

    def open(self, path, flags):
        return os.open(self.real(path), flags & ~(os.O_NOFOLLOW | os.O_CREAT | os.O_EXCL))

    def read(self, path, size, offset, fh):
        return os.pread(fh, size, offset)

    def write(self, path, data, offset, fh):
        return os.pwrite(fh, data, offset)

    def truncate(self, path, length, fh=None):
        os.truncate(fh if fh is not None else self.real(path), length)

    def flush(self, path, fh):
        return 0

    def fsync(self, path, datasync, fh):
        os.fsync(fh)

    def fsyncdir(self, path, datasync, fh):
        return 0

    def release(self, path, fh):
        os.close(fh)

    def mkdir(self, path, mode):
        os.mkdir(self.real(path), mode)

    def rmdir(self, path):
        os.rmdir(self.real(path))

    def unlink(self, path):
        os.unlink(self.real(path))

    def symlink(self, target, source):
        os.symlink(source, self.real(target))

    def link(self, target, source):
        os.link(self.real(source), self.real(target))

    def rename(self, old, new, flags=0):
        if flags:
            raise mfusepy.FuseOSError(errno.EINVAL)
        source, there = self.real(old), self.real(new)
        if os.path.lexists(there) and there != source:
            os.rename(source, there)
        else:
            os.rename(source, self.new(new))

    def chmod(self, path, mode):
        os.chmod(self.real(path), mode)

    def chown(self, path, uid, gid):
        os.lchown(self.real(path), uid, gid)

    def utimens(self, path, times=None):
        os.utime(self.real(path), ns=times, follow_symlinks=False)

    def statfs(self, path):
        stat = os.statvfs(self.real(path))
        names = ("f_bavail", "f_bfree", "f_blocks", "f_bsize", "f_favail", "f_ffree", "f_files", "f_flag", "f_frsize", "f_namemax")
        return {name: getattr(stat, name) for name in names}


if __name__ == "__main__":
    backing, mount = sys.argv[1:3]
    system = FoldingFileSystem(backing, sys.argv[3:] == ["nfd"])
    mfusepy.FUSE(system, mount, foreground=True, nothreads=True, use_ino=True, attr_timeout=0, entry_timeout=0, negative_timeout=0)
