import { lowerOwnThread } from '../platform/process/lower-own-thread.ts'

// The program of the thread of expensive requests; start-apart-thread.ts starts it. Loading the rest is work as well, so
// the priority is lowered before.

lowerOwnThread()
await import('./serve-apart.ts')
