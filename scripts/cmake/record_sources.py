"""Makes what is compiled carry the content hashes of what it was compiled from.

    record_sources.py compile ROOT OBJCOPY COMPILER COMMAND…
        a compiler launcher: runs COMMAND unchanged, then records in its object, or beside it where that is a precompiled
        header, whose files g++ does not tell of the objects that include it
    record_sources.py beside ROOT PROGRAM FILE… -- COMMAND…
        runs COMMAND, then records in PROGRAM.source: for compilers that leave no objects

A record is text in sha256sum's form, `HASH  NAME`, in the section .apiary.source of an object. The
linker joins those of a program's objects, so that a program tells the source of all that is in it,
wherever it is copied. A NAME is one of
    a file's place below ROOT;
    `compiler:PATH`: the hash is of its version, which stands for the headers outside ROOT, too;
    `flags:OBJECT`: of the words of its compile, without those about the dependency file;
    `.`: beside a program, the program itself.
The HASH `-` is of a file that changed while it was compiled. `apiary_cli/base/sources.py` reads records.

It runs for every object, so it imports little; it costs some 25 ms.
"""

import os
import sys
import time
from hashlib import sha256

SECTION = ".apiary.source"
COARSE = 5  # CLOCK_REALTIME_COARSE, which file systems take their time from


def dependencies(text):
    """The names behind the colon of a compiler's dependency file, which is a rule of make with its escapes."""
    text = text.partition(": ")[2].replace("\\\n", " ").replace("\\ ", "\0")
    return [word.replace("\0", " ").replace("\\#", "#").replace("$$", "$") for word in text.split()]


def inside(root, names):
    """Where those that lie below `root` lie, links followed; each once, sorted."""
    real = os.path.realpath(root)
    near = (name for name in names if not name.startswith("/") or name.startswith((root + "/", real + "/")))
    found = {os.path.realpath(name) for name in near}
    return sorted(os.path.relpath(path, real) for path in found if path.startswith(real + "/"))


def line(root, name, begun=None):
    """The ctime is the one time that `cp -p` and `touch -d` cannot set back."""
    with open(os.path.join(root, name), "rb") as file:
        changed = begun is not None and os.fstat(file.fileno()).st_ctime_ns >= begun
        return f"-  {name}\n" if changed else entry(file.read(), name)


def version(compiler):
    """The first line of --version; the others are in the user's language."""
    out, into = os.pipe()
    child = os.posix_spawnp(compiler, [compiler, "--version"], os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, into, 1)])
    os.close(into)
    with open(out, "rb") as told:
        found = told.read()
    os.waitpid(child, 0)
    return found.partition(b"\n")[0]


def flags(words):
    """What compile_commands.json says of this object."""
    kept, rest = [], iter(words)
    for word in rest:
        if word in ("-MT", "-MF"):
            next(rest)
        elif word != "-MD":
            kept.append(word)
    return "\0".join(kept)


def entry(text, name):
    return f"{sha256(text).hexdigest()}  {name}\n"


def run(words):
    """Its exit status, as a shell tells it."""
    code = os.waitstatus_to_exitcode(os.waitpid(os.posix_spawnp(words[0], words, os.environ), 0)[1])
    return code if code >= 0 else 128 - code


def embed(text, target, objcopy):
    """Into a copy that replaces the object: a compiler cache may have linked its own file here."""
    section, made = target + ".source", target + ".recorded"
    with open(section, "w") as file:
        file.write(text)
    try:
        if run([objcopy, "--add-section", f"{SECTION}={section}", target, made]) == 0:
            os.replace(made, target)
            return
    finally:
        os.unlink(section)
    os.unlink(target)
    sys.exit(f"{target} cannot carry the record of its source\n"
             f"  cause:  {objcopy} --add-section failed, see above\n"
             "  remedy: a binutils that knows this compiler's objects")


def precompiled(command):
    """What the precompiled headers that it includes are made of: lines of their records."""
    before = (command[i + 1] + ".gch.source" for i, word in enumerate(command) if word == "-include")
    told = []
    for record in filter(os.path.exists, before):
        with open(record) as file:
            told += [one for one in file if not one.endswith("  .\n")]
    return told


def write_beside(program, told):
    with open(program, "rb") as file:
        own = entry(file.read(), ".")
    with open(program + ".source", "w") as file:
        file.write(own + told)


def compile_and_record(root, objcopy, compiler, *command):
    begun = time.clock_gettime_ns(COARSE)
    status = run(command)
    if status or not {"-o", "-MF"} <= set(command):
        return status
    target, listed = (command[command.index(option) + 1] for option in ("-o", "-MF"))
    with open(listed) as file:
        names = inside(root, dependencies(file.read()))
    told = entry(version(compiler), f"compiler:{compiler}")
    told += entry(flags(command[command.index(compiler):]).encode(), f"flags:{target}")
    told = "".join(line(root, name, begun) for name in names) + told
    if target.endswith(".gch"):
        write_beside(target, told)
    else:
        embed(told + "".join(precompiled(command)), target, objcopy)
    return 0


def beside(root, program, *words):
    end = words.index("--")
    begun = time.clock_gettime_ns(COARSE)
    status = run(words[end + 1:])
    if status:
        return status
    names = inside(root, (os.path.join(root, name) for name in words[:end]))
    write_beside(program, "".join(line(root, name, begun) for name in names))
    return 0


if __name__ == "__main__":
    sys.exit({"compile": compile_and_record, "beside": beside}[sys.argv[1]](*sys.argv[2:]))
