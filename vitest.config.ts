import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    // Beside a test there runs what it tests: a server, a database, simulated devices.
    maxWorkers: 2,
    // Modules have no state of their own, so files have nothing to be isolated from, and to import the whole service
    // anew for each of them took a fourth of the run.
    isolate: false,
    projects: [
      {
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts', 'scripts/**/*.test.ts'],
          testTimeout: 30_000,
        },
      },
      {
        test: {
          name: 'integration',
          include: ['test/**/*.test.ts'],
          globalSetup: ['test/support/global-setup.ts'],
          pool: 'forks',
          testTimeout: 30_000,
          hookTimeout: 30_000,
        },
      },
    ],
  },
})
