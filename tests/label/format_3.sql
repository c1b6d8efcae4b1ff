-- the tables of labels.db as of format 3

CREATE TABLE classes (id INTEGER PRIMARY KEY CHECK (id >= 0)) STRICT;
CREATE TABLE class_changes (
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('add', 'merge', 'remove', 'rename', 'undo')),
    class INTEGER REFERENCES classes (id),
    name TEXT CHECK (name <> ''),
    "into" INTEGER REFERENCES classes (id),
    undoes INTEGER UNIQUE REFERENCES class_changes (id), -- nothing is undone twice
    by TEXT NOT NULL,
    at TEXT NOT NULL,
    CHECK ((class IS NULL) = (kind = 'undo')),
    CHECK ((name IS NOT NULL) = (kind IN ('add', 'rename'))),
    CHECK (("into" IS NOT NULL) = (kind = 'merge')),
    CHECK ((undoes IS NOT NULL) = (kind = 'undo'))
) STRICT;

CREATE TABLE items (
    id INTEGER PRIMARY KEY CHECK (id >= 0),
    name TEXT NOT NULL UNIQUE,
    gone INTEGER NOT NULL DEFAULT 0 CHECK (gone IN (0, 1))
) STRICT;
CREATE TABLE people (
    name TEXT PRIMARY KEY NOT NULL CHECK (name <> ''),
    password TEXT NOT NULL, -- its hash
    at TEXT NOT NULL
) STRICT;

CREATE TABLE acts (
    id INTEGER PRIMARY KEY,
    uid TEXT NOT NULL UNIQUE CHECK (uid <> ''),
    item INTEGER NOT NULL REFERENCES items (id),
    kind TEXT NOT NULL CHECK (kind IN ('flag', 'label', 'note', 'settle', 'skip', 'undo', 'unflag', 'unsure', 'veto')),
    annotator TEXT NOT NULL CHECK (annotator <> ''),
    why TEXT NOT NULL CHECK (why IN ('alike', 'audit', 'browse', 'guesses', 'import', 'rank', 'source', 'spread', 'twice')),
    class INTEGER REFERENCES classes (id),
    undoes TEXT UNIQUE REFERENCES acts (uid), -- nothing is undone twice
    seconds REAL CHECK (seconds >= 0),
    saw_guess INTEGER NOT NULL CHECK (saw_guess IN (0, 1)),
    at TEXT NOT NULL,
    note TEXT,
    CHECK ((class IS NOT NULL) = (kind IN ('label', 'settle', 'veto'))),
    CHECK ((undoes IS NOT NULL) = (kind = 'undo')),
    CHECK ((note IS NOT NULL) = (kind = 'note'))
) STRICT;
CREATE TABLE leases (
    place INTEGER PRIMARY KEY, -- in the order in which they were handed out
    item INTEGER NOT NULL UNIQUE REFERENCES items (id),
    annotator TEXT NOT NULL,
    why TEXT NOT NULL CHECK (why IN ('alike', 'audit', 'browse', 'guesses', 'import', 'rank', 'source', 'spread', 'twice')),
    until REAL NOT NULL
) STRICT;

CREATE TABLE files (
    item INTEGER PRIMARY KEY REFERENCES items (id),
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL
) STRICT;
CREATE TRIGGER acts_no_delete BEFORE DELETE ON acts BEGIN SELECT RAISE(ABORT, 'acts are only ever added') WHERE true; END;
CREATE TRIGGER acts_no_update BEFORE UPDATE OF id, uid, item, kind, annotator, why, class, undoes, seconds, saw_guess, at, note ON acts BEGIN SELECT RAISE(ABORT, 'acts are only ever added') WHERE true; END;
CREATE TRIGGER acts_no_replace BEFORE INSERT ON acts BEGIN SELECT RAISE(ABORT, 'acts are only ever added, and this one is there already') WHERE EXISTS (SELECT 1 FROM acts WHERE id = NEW.id OR uid = NEW.uid OR undoes = NEW.undoes); END;
CREATE TRIGGER items_no_delete BEFORE DELETE ON items BEGIN SELECT RAISE(ABORT, 'items are only ever added') WHERE true; END;
CREATE TRIGGER items_no_update BEFORE UPDATE OF id, name ON items BEGIN SELECT RAISE(ABORT, 'items are only ever added') WHERE true; END;
CREATE TRIGGER items_no_replace BEFORE INSERT ON items BEGIN SELECT RAISE(ABORT, 'items are only ever added, and this one is there already') WHERE EXISTS (SELECT 1 FROM items WHERE id = NEW.id OR name = NEW.name); END;
CREATE TRIGGER classes_no_delete BEFORE DELETE ON classes BEGIN SELECT RAISE(ABORT, 'classes are only ever added') WHERE true; END;
CREATE TRIGGER classes_no_update BEFORE UPDATE OF id ON classes BEGIN SELECT RAISE(ABORT, 'classes are only ever added') WHERE true; END;
CREATE TRIGGER classes_no_replace BEFORE INSERT ON classes BEGIN SELECT RAISE(ABORT, 'classes are only ever added, and this one is there already') WHERE EXISTS (SELECT 1 FROM classes WHERE id = NEW.id); END;
CREATE TRIGGER class_changes_no_delete BEFORE DELETE ON class_changes BEGIN SELECT RAISE(ABORT, 'class_changes are only ever added') WHERE true; END;
CREATE TRIGGER class_changes_no_update BEFORE UPDATE OF id, kind, class, name, "into", undoes, by, at ON class_changes BEGIN SELECT RAISE(ABORT, 'class_changes are only ever added') WHERE true; END;
CREATE TRIGGER class_changes_no_replace BEFORE INSERT ON class_changes BEGIN SELECT RAISE(ABORT, 'class_changes are only ever added, and this one is there already') WHERE EXISTS (SELECT 1 FROM class_changes WHERE id = NEW.id OR undoes = NEW.undoes); END;

PRAGMA user_version = 3;
