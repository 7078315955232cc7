/** Writes a line of JSON; the system's journal adds the rest. */
export type Log = (what: string, details?: Readonly<Record<string, unknown>>) => void

export const consoleLog: Log = (what, details = {}) => {
  process.stdout.write(`${JSON.stringify({ time: new Date().toISOString(), what, ...details })}\n`)
}
