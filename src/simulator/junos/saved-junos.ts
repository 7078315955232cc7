import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Type } from 'typebox'
import { Value } from 'typebox/value'
import type { JunosDevice } from './junos-device.ts'

const Text = Type.String()
const Version = Type.Union([Text, Type.Null()])
const Saved = Type.Object({
  hostKey: Text,
  chassis: Type.Array(
    Type.Object({
      active: Text,
      pending: Version,
      backup: Version,
      isPresent: Type.Boolean(),
      // Files of earlier versions lack it.
      bootedAtMs: Type.Optional(Type.Number()),
    }),
  ),
  files: Type.Array(Type.Tuple([Text, Text])),
  versions: Type.Array(Type.Tuple([Text, Text])),
  booting: Type.Optional(Type.Array(Type.Integer())),
  journal: Type.Array(Text),
})
type Saved = Type.Static<typeof Saved>

/** The state that outlives the simulator: the service would not recognize a device that lost its host key. */
export interface JunosFile {
  /** Null for a device that is new. */
  readonly hostKey: string | null
  /** Gives the device its former state. */
  restore(device: JunosDevice): void
  save(device: JunosDevice, hostKey: string): void
}

/** Opens the file of the device in the folder; null stores nothing. */
export function openJunosFile(stateDir: string | null, mac: string): JunosFile {
  if (stateDir === null) return { hostKey: null, restore: () => undefined, save: () => undefined }
  mkdirSync(stateDir, { recursive: true })
  const path = join(stateDir, `junos-${mac}.json`)
  const saved = existsSync(path) ? Value.Parse(Saved, JSON.parse(readFileSync(path, 'utf8'))) : null
  return {
    hostKey: saved?.hostKey ?? null,
    restore(device) {
      if (saved !== null) restoreDevice(device, saved)
    },
    save(device, hostKey) {
      // A rename is whole or not at all, whenever the process dies.
      writeFileSync(`${path}.new`, JSON.stringify(savedOf(device, hostKey)), { mode: 0o600 })
      renameSync(`${path}.new`, path)
    },
  }
}

function restoreDevice(device: JunosDevice, saved: Saved): void {
  for (const [index, chassis] of device.chassis.entries()) Object.assign(chassis, saved.chassis[index])
  for (const [path, sha256] of saved.files) device.files.set(path, sha256)
  for (const [sha256, version] of saved.versions) device.versions.set(sha256, version)
  device.booting = saved.booting ?? []
  device.journal.push(...saved.journal)
}

function savedOf(device: JunosDevice, hostKey: string): Saved {
  return {
    hostKey,
    chassis: device.chassis.map(({ active, pending, backup, isPresent, bootedAtMs }) => ({
      active,
      pending,
      backup,
      isPresent,
      bootedAtMs,
    })),
    files: [...device.files],
    versions: [...device.versions],
    booting: [...device.booting],
    journal: device.journal,
  }
}
