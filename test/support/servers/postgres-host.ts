// A process that uses a data folder as the server does, for tests that kill it.
import { openDataDir } from '../../../src/platform/data-dir.ts'
import { startEmbeddedPostgres } from '../../../src/platform/embedded-postgres/embedded-postgres.ts'
import { createLog } from '../../../src/platform/log.ts'

const [folder = ''] = process.argv.slice(2)
const dataDir = await openDataDir(folder)
const server = await startEmbeddedPostgres({ dataDir: dataDir.path, log: createLog('error') })
process.once('SIGTERM', async () => {
  await server.stop()
  dataDir.release()
})
// This line is the last, because its reader may send the signal immediately.
process.stdout.write(`${JSON.stringify(server.connection)}\n`)
