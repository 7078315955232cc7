import { type RawBuilder, sql } from 'kysely'

/**
 * SQL expression: the version that a device runs. It is the target's version if the device reports one of the strings
 * that belong to it, and the reported text otherwise.
 * @param target The table, or the alias, of `upgrade_target`.
 * @param said The column that stores the device's report.
 */
export function versionRun(target: string, said: string): RawBuilder<string | null> {
  const [strings, version] = [sql.ref(`${target}.reported`), sql.ref(`${target}.target_version`)]
  return sql`case when jsonb_exists(${strings}, ${sql.ref(said)}) then ${version} else ${sql.ref(said)} end`
}
