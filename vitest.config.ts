import { defineConfig } from 'vitest/config'
import { LongFilesFirst } from './test/support/long-files-first.ts'

export default defineConfig({
  test: {
    // Tests wait for timers, processes and answers of the database for about half of their time. With three, an eighth of two
    // processors was idle; the parts under test, a server, a database and simulated devices, run beside each test.
    maxWorkers: 4,
    // Modules have no state of their own, so files need no isolation; importing the whole service again for each file
    // took a quarter of the run.
    isolate: false,
    // Requests and answers of a test leave much garbage, which a small young generation collects too often.
    execArgv: ['--max-semi-space-size=64'],
    sequence: { sequencer: LongFilesFirst },
    projects: [
      {
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts', 'scripts/**/*.test.ts', 'web/src/**/*.test.ts'],
          setupFiles: ['test/support/seed-properties.ts'],
          testTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'integration',
          include: ['test/**/*.test.ts'],
          globalSetup: ['test/support/global-setup.ts'],
          setupFiles: ['test/support/seed-properties.ts'],
          pool: 'forks',
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
})
