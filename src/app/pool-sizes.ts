/**
 * The connections to the database that the threads may open for their work; a few more of each program serve the lookups
 * of every request, heavy accounts, chores and the lock.
 */
export const poolSizes = { server: 10, gateway: 6, apart: 4 } as const
