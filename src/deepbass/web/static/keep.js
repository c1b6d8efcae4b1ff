/** Where unsent answers are kept: IndexedDB, else localStorage, else memory. All outlive a reload but the last. */

const DATABASE = "deepbass";
const STORE = "outbox";
const PREFIX = "deepbass.outbox.";
const PATIENCE = 3000; // milliseconds for a database to open: some private windows never answer

/**
 * @typedef {{scope: string, act: import("./api.js").Act, about: {name: string, answer: string}}} Entry
 * @typedef {{lasting: boolean, add: (entries: Entry[]) => Promise<void>, all: () => Promise<Entry[]>,
 *   remove: (uids: Set<string>) => Promise<void>}} Keep
 */

/** Open the best place there is. @returns {Promise<Keep>} */
export async function openKeep() {
  try {
    return indexedKeep(await openDatabase());
  } catch {
    return storageKeep() ?? memoryKeep();
  }
}

/** @returns {Promise<IDBDatabase>} */
function openDatabase() {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error("the database does not open")), PATIENCE);
    const asked = indexedDB.open(DATABASE, 1);
    asked.onupgradeneeded = () => asked.result.createObjectStore(STORE, { autoIncrement: true });
    asked.onerror = () => reject(asked.error);
    asked.onsuccess = () => {
      clearTimeout(timer);
      asked.result.onversionchange = () => asked.result.close();
      resolve(asked.result);
    };
  });
}

/** @param {IDBDatabase} database @returns {Keep} */
function indexedKeep(database) {
  /**
   * Run inside one transaction: all of it counts, or nothing.
   * @template Result
   * @param {IDBTransactionMode} mode
   * @param {(store: IDBObjectStore) => IDBRequest<Result>|void} work
   * @returns {Promise<Result|undefined>} what was asked for, if anything was
   */
  function within(mode, work) {
    return new Promise((resolve, reject) => {
      const transaction = database.transaction(STORE, mode);
      const asked = work(transaction.objectStore(STORE));
      transaction.oncomplete = () => resolve(asked ? asked.result : undefined);
      transaction.onabort = transaction.onerror = () => reject(transaction.error);
    });
  }

  return {
    lasting: true,
    add: async (entries) => void (await within("readwrite", (store) => entries.forEach((one) => void store.add(one)))),
    all: async () => (await within("readonly", (store) => store.getAll())) ?? [], // in the order of their keys
    async remove(uids) {
      await within("readwrite", (store) => {
        const walk = store.openCursor();
        walk.onsuccess = () => {
          const cursor = walk.result;
          if (!cursor) return;
          if (uids.has(cursor.value.act.uid)) cursor.delete();
          cursor.continue();
        };
      });
    },
  };
}

/** @returns {Keep|null} */
function storageKeep() {
  let count = 0;
  try {
    localStorage.setItem(`${PREFIX}test`, "");
    localStorage.removeItem(`${PREFIX}test`);
  } catch {
    return null;
  }
  const keys = () => Object.keys(localStorage).filter((key) => key.startsWith(PREFIX)).sort();
  return {
    lasting: true,
    async add(entries) {
      for (const entry of entries) {
        // one key an entry, so that two tabs never overwrite each other's; the key holds the order
        const order = `${String(Date.now()).padStart(15, "0")}.${String((count += 1)).padStart(6, "0")}`;
        localStorage.setItem(`${PREFIX}${order}.${entry.act.uid}`, JSON.stringify(entry));
      }
    },
    all: async () => keys().map((key) => JSON.parse(localStorage.getItem(key) ?? "null")).filter(Boolean),
    async remove(uids) {
      for (const key of keys()) if (uids.has(key.split(".").pop() ?? "")) localStorage.removeItem(key);
    },
  };
}

/** Keep in memory only: what is lost with the page. @returns {Keep} */
export function memoryKeep() {
  /** @type {Entry[]} */
  let kept = [];
  return {
    lasting: false,
    add: async (entries) => void kept.push(...entries),
    all: async () => [...kept],
    remove: async (uids) => void (kept = kept.filter((entry) => !uids.has(entry.act.uid))),
  };
}
