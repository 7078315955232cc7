import { parseConfig } from '../app/config/config.ts'
import { createClosing } from '../app/closing.ts'
import { explainDatabaseError, openDatabase } from '../app/database.ts'
import { openDataDir } from '../platform/data-dir.ts'
import { createLog } from '../platform/log.ts'
import { migrate, migrationsDir } from '../platform/database/migrate.ts'
import { messageOf } from '../platform/message-of.ts'

const STOP_WITHIN_MS = 20_000

/** Migrates the database without serving: `npm run migrate`. The server also does it at every start. */
async function main(): Promise<void> {
  const config = parseConfig(process.env)
  const log = createLog(config.logLevel)
  const closing = createClosing()
  try {
    const dataDir = await openDataDir(config.dataDir)
    closing.add('data folder', () => dataDir.release())
    const { connection } = await openDatabase({ config, log, closing, program: 'migrate' })
    const applied = await migrate(connection, migrationsDir, (name, { number, of }) => {
      process.stdout.write(`migration ${number} of ${of}: ${name}\n`)
    }).catch((error: unknown) => {
      throw explainDatabaseError(config, error)
    })
    process.stdout.write(applied.length === 0 ? 'nothing to do\n' : 'done\n')
  } finally {
    await closing.close({ withinMs: STOP_WITHIN_MS, log })
  }
}

main().catch((error: unknown) => {
  process.stderr.write(`signalbox: ${messageOf(error)}\n`)
  process.exitCode = 1
})
