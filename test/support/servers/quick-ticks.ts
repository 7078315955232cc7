import type { Limits } from '../../../src/gateway/limits.ts'

/**
 * The intervals of a gateway in tests. Real waits are short, because the clock of the test shortens long ones; but each
 * tick and each sweep queries the database, so shorter intervals take a fifth of the processor time of a test.
 */
export const quickTicks = { tickMs: 50, sweepMs: 100 } as const satisfies Partial<Limits>
