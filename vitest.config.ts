import { defineConfig } from 'vitest/config'
import { SpreadLongFiles } from './test/support/spread-long-files.ts'

export default defineConfig({
  test: {
    // With two, a fifth of two processors was idle while tests waited for timers, processes and answers of the database;
    // the parts under test, a server, a database and simulated devices, run beside each test. With three, they are busy.
    maxWorkers: 3,
    // Modules of the service have no state of their own, so files need no isolation; importing the whole service again for each file
    // took a quarter of the run.
    isolate: false,
    // Requests and answers of a test leave much garbage, which a small young generation collects too often.
    execArgv: ['--max-semi-space-size=64'],
    sequence: { sequencer: SpreadLongFiles },
    projects: [
      {
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts', 'scripts/**/*.test.ts', 'web/src/**/*.test.ts'],
          setupFiles: [
            'test/support/seed-properties.ts',
            'test/support/plain-assertions.ts',
            'test/support/end-files.ts',
          ],
          testTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'integration',
          include: ['test/**/*.test.ts'],
          globalSetup: ['test/support/global-setup.ts'],
          setupFiles: [
            'test/support/seed-properties.ts',
            'test/support/plain-assertions.ts',
            'test/support/drop-returned-databases.ts',
            'test/support/end-files.ts',
          ],
          pool: 'forks',
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
})
