import { isPortableClaimCode, plainClaimCode } from './claim-code.ts'
import { type DeviceType, deviceIdOf, parseMac } from '../device.ts'

/** A line of a manifest, as the operator wrote it. */
export interface ManifestRow<T extends string = DeviceType> {
  readonly mac: string
  readonly serial: string
  readonly model: string
  /** If absent, the model's name decides. */
  readonly type?: T
  readonly claim_code: string
}

export interface ManifestConflict {
  /** Position in the manifest, from 0. */
  readonly row: number
  /** As in the manifest; a well-formed MAC in lower case without separators. */
  readonly mac: string
  /** The wrong column, where a single one is wrong. */
  readonly column?: keyof ManifestRow
  readonly reason: string
}

/** A row of a manifest that passed the checks. */
export interface ManifestItem<T extends string = DeviceType> {
  readonly id: string
  readonly mac: string
  readonly serial: string
  readonly model: string
  readonly type: T
  /** From plainClaimCode(). */
  readonly claimCode: string
}

/** An item with its position in the manifest, from 0. */
export type PlacedItem<T extends string = DeviceType> = ManifestItem<T> & { readonly row: number }

/**
 * Checks the rows of a manifest, and returns the valid ones in its order and the reasons why the others are not.
 * @param typeOf Returns the type that a model's name implies; null if it implies none.
 */
export function checkManifest<T extends string>(
  rows: readonly ManifestRow<T>[],
  typeOf: (model: string) => T | null,
): { readonly devices: readonly PlacedItem<T>[]; readonly conflicts: readonly ManifestConflict[] } {
  const devices: PlacedItem<T>[] = []
  const conflicts: ManifestConflict[] = []
  const macs = new Set<string>()
  const codes = new Set<string>()
  for (const [row, given] of rows.entries()) {
    const mac = parseMac(given.mac)
    const code = plainClaimCode(given.claim_code)
    const type = given.type ?? typeOf(given.model)
    if (mac === null) conflicts.push({ row, mac: given.mac, column: 'mac', reason: 'invalid mac' })
    else if (code === null) conflicts.push({ row, mac: given.mac, column: 'claim_code', reason: 'invalid claim_code' })
    else if (type === null) {
      const reason = 'the model does not tell the type: give one'
      conflicts.push({ row, mac: given.mac, column: 'type', reason })
    } else if (macs.has(mac) || codes.has(code)) {
      const column = macs.has(mac) ? 'mac' : 'claim_code'
      conflicts.push({ row, mac, column, reason: `another row has this ${column}` })
    } else {
      macs.add(mac)
      codes.add(code)
      const { serial, model } = given
      devices.push({ row, id: deviceIdOf(mac), mac, serial, model, type, claimCode: code })
    }
  }
  return { devices, conflicts }
}

export interface ImportPlan<T extends string = DeviceType> {
  /** Items to write: new ones, and those that are known only from a connection. */
  readonly save: readonly ManifestItem<T>[]
  /** Ids of the items that the registry has with the same data. */
  readonly unchanged: readonly string[]
  readonly conflicts: readonly ManifestConflict[]
}

/** The registry's data of an item. */
export type RegisteredItem<T extends string = DeviceType> = Omit<ManifestItem<T>, 'mac'> & {
  /** The organization that has claimed it. */
  readonly orgId: string | null
}

/**
 * @param devices From checkManifest().
 * @param registered The registry's data of these devices and of their claim codes; other rows are ignored.
 */
export function planImport<T extends string>(
  devices: readonly PlacedItem<T>[],
  registered: readonly RegisteredItem<T>[],
): ImportPlan<T> {
  const byId = new Map(registered.map((known) => [known.id, known]))
  const byCode = new Map(registered.map((known) => [plainClaimCode(known.claimCode), known]))
  const save: ManifestItem<T>[] = []
  const conflicts: ManifestConflict[] = []
  const unchanged: string[] = []
  for (const { row, ...device } of devices) {
    const known = byId.get(device.id)
    const holder = byCode.get(device.claimCode)
    const { mac } = device
    // A registered device may keep a code of another length, so that its old manifest can be imported again.
    if (known !== undefined && isSame(known, device)) unchanged.push(device.id)
    else if (!isPortableClaimCode(device.claimCode))
      conflicts.push({ row, mac, column: 'claim_code', reason: 'claim_code must have 15 letters and digits' })
    else if (holder !== undefined && holder.id !== device.id)
      conflicts.push({ row, mac, column: 'claim_code', reason: 'another device has this claim_code' })
    else if (known === undefined || known.orgId === null) save.push(device)
    else conflicts.push({ row, mac, reason: 'claimed already, with other data' })
  }
  return { save, unchanged, conflicts }
}

function isSame<T extends string>(known: RegisteredItem<T>, device: ManifestItem<T>): boolean {
  return (
    known.serial === device.serial &&
    known.model === device.model &&
    known.type === device.type &&
    plainClaimCode(known.claimCode) === device.claimCode
  )
}
