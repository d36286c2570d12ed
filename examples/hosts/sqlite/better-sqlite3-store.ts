// Buckets in a SQLite file, through better-sqlite3. For the processes of one machine.
import Database from "better-sqlite3";
import type { Clock } from "sluice";
import { sqlStore, type SqlRow } from "sluice/store";

export function sqliteStore(path: string, { clock = Date.now }: { clock?: Clock } = {}) {
  const db = new Database(path, { timeout: 1_000 });
  db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
    CREATE TABLE IF NOT EXISTS sluice (name TEXT PRIMARY KEY, value TEXT, expires_at INTEGER) STRICT, WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS sluice_expires_at ON sluice (expires_at)`);
  const read = db.prepare<[string], SqlRow>("SELECT value FROM sluice WHERE name = ?");
  const write = db.prepare("INSERT OR REPLACE INTO sluice VALUES (?, ?, ?)");
  const sweep = db.prepare("DELETE FROM sluice WHERE name IN (SELECT name FROM sluice WHERE expires_at < ? LIMIT 5000)");
  return sqlStore<Database.Database>({
    sync: true,
    clock,
    transaction: (run) => db.transaction(() => run(db)).immediate(), // until it ends, no other process writes
    read: (_db, name) => read.get(name),
    write: (_db, name, value, expiresAt) => write.run(name, value, expiresAt),
    peek: (name) => read.get(name),
    sweep: (before) => sweep.run(before),
  });
}
