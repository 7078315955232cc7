import { closeSync, mkdirSync, openSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { type Static, Type } from 'typebox'
import { checkOf } from '../platform/json/check-of.ts'
import type { DeviceChange, DeviceState } from './ucentral/device.ts'

/** One change of one device; a JSON line in the file. */
export interface JournalEntry {
  /** Epoch milliseconds. */
  readonly at: number
  readonly mac: string
  readonly change: DeviceChange
  /** The state after the change. */
  readonly state: DeviceState
}

/**
 * An append-only history of the devices. Entries are written synchronously and in order, so they survive a crash. The
 * counts in a device's last line cover its whole history.
 */
export interface Journal {
  append(entry: JournalEntry): void
  close(): void
}

export function openJournal(path: string): Journal {
  const file = openSync(path, 'a', 0o644)
  return {
    append: (entry) => void writeSync(file, `${JSON.stringify(entry)}\n`),
    close: () => closeSync(file),
  }
}

/** Returns the path of the journal in a state folder; creates the folder if it is missing. */
export function journalPath(stateDir: string): string {
  mkdirSync(stateDir, { recursive: true })
  return join(stateDir, 'devices.jsonl')
}

const Count = Type.Integer({ minimum: 0 })
const Reason = Type.Union([
  Type.Literal('coldboot'),
  Type.Literal('reboot'),
  Type.Literal('upgrade'),
  Type.Literal('upgradefailed'),
])
const CallId = Type.Integer()
const Flag = Type.Optional(Type.Literal(true))

const Saved = Type.Object({
  mac: Type.String(),
  state: Type.Object({
    firmware: Type.String(),
    backup: Type.Optional(Type.String()),
    staged: Type.Optional(Type.Object({ sha256: Type.String(), version: Type.String() })),
    activity: Type.Union([
      Type.Object({ kind: Type.Literal('idle') }),
      Type.Object({
        kind: Type.Literal('downloading'),
        callId: CallId,
        percent: Type.Number(),
        wipes: Flag,
        stages: Type.Optional(Type.String()),
      }),
      Type.Object({ kind: Type.Literal('triggering'), callId: CallId, version: Type.String(), wipes: Flag }),
      Type.Object({
        kind: Type.Literal('installing'),
        version: Type.String(),
        remainingMs: Type.Number(),
        wipes: Flag,
      }),
      Type.Object({ kind: Type.Literal('restarting') }),
      Type.Object({ kind: Type.Literal('booting'), reason: Reason }),
      Type.Object({ kind: Type.Literal('lost') }),
    ]),
    connectReason: Type.Union([Reason, Type.Literal('socket'), Type.Literal('recovery')]),
    untoldBoot: Type.Optional(Type.Union([Type.Literal('powerloss'), Type.Literal('reboot')])),
    upgraded: Flag,
    restoreLost: Flag,
    bootedAtMs: Type.Number(),
    flapsLeft: Count,
    orphaned: Flag,
    counts: Type.Object({ boots: Count, flashes: Count, downloads: Count, partBoots: Count }),
  }),
})
const isSaved = checkOf(Saved)

/** Returns the last state of each device by MAC; empty when there is no journal yet. */
export function readJournal(path: string): ReadonlyMap<string, DeviceState> {
  const states = new Map<string, DeviceState>()
  for (const line of readLines(path)) {
    const entry = parseLine(line)
    if (entry !== null) states.set(entry.mac, entry.state)
  }
  return states
}

function readLines(path: string): readonly string[] {
  try {
    return readFileSync(path, 'utf8').split('\n')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
    throw error
  }
}

/** Returns null for a line that is incomplete because the process was killed. */
function parseLine(line: string): Static<typeof Saved> | null {
  try {
    const entry: unknown = JSON.parse(line, readReason)
    return isSaved(entry) ? entry : null
  } catch {
    return null
  }
}

/** Maps the reason `boot`, which the first release wrote for all boots. */
function readReason(name: string, value: unknown): unknown {
  return (name === 'connectReason' || name === 'reason') && value === 'boot' ? 'reboot' : value
}
