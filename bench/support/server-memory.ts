import { saveMemory } from '../../src/platform/process/save-memory.ts'

/** Lets the heaps of this process grow, and saves memory, as in a server that has started. Must be called once. */
export function saveMemoryAsServer(): void {
  saveMemory({ started: Promise.resolve(() => 0) })
}
