import { lowerOwnProcess } from '../../platform/process/lower-own-process.ts'

// The program of the process of expensive requests; start-apart-process.ts starts it. Loading the rest is work as well, so
// the priority is lowered before.

// Ctrl-C in a terminal reaches all processes; the server ends this one.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
lowerOwnProcess()
const { serveApart } = await import('./serve-apart.ts')
serveApart()
