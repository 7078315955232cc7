// Builds the server and the programs beside it: `node scripts/build-server.ts [FOLDER]`, by default dist/server.
import { resolve } from 'node:path'
import { bundlePrograms } from './bundle-programs.ts'

/** The server, its thread and its process, and the programs that the demo and tests start. */
const PROGRAMS = [
  'src/bin/server.ts',
  'src/app/gateway/gateway-thread.ts',
  'src/app/apart/apart-process.ts',
  'src/bin/migrate.ts',
  'src/bin/cli.ts',
  'src/bin/signalbox.ts',
  'src/bin/simulator.ts',
  'src/bin/agent.ts',
]

await bundlePrograms(PROGRAMS, resolve(process.argv[2] ?? 'dist/server'))
