import type { Schemas } from '../../api/client.ts'

export type Preview = Schemas['UpgradePreview']
type PlanDifference = Schemas['UpgradePlanOutdated']['differences'][number]

type DeviceNote = Preview['skipped'][number]

export interface ReasonGroup {
  readonly reason: string
  readonly devices: readonly Pick<DeviceNote, 'mac' | 'name'>[]
}

/** Returns the devices that are left out by the reason, the most frequent first. */
export function groupSkipped({ skipped }: Pick<Preview, 'skipped'>): readonly ReasonGroup[] {
  return groupByReason(skipped)
}

/** Returns the devices that are upgraded and have a note, by the note, the most frequent first. */
export function groupNoted({ notes }: Pick<Preview, 'notes'>): readonly ReasonGroup[] {
  return groupByReason(notes.flatMap(({ mac, ...note }) => (mac === undefined ? [] : [{ ...note, mac }])))
}

function groupByReason(notes: readonly DeviceNote[]): readonly ReasonGroup[] {
  return [...Map.groupBy(notes, ({ reason }) => reason)]
    .map(([reason, devices]) => ({ reason, devices }))
    .toSorted((a, b) => b.devices.length - a.devices.length)
}

export interface PlanChanges {
  readonly differences: readonly PlanDifference[]
  readonly total: number
}

/** Returns the changes since the plan was made, from the body of the 409; null for any other body. */
export function changesIn(body: unknown): PlanChanges | null {
  if (typeof body !== 'object' || body === null || !('differences' in body) || !('total' in body)) return null
  const { differences, total } = body
  return Array.isArray(differences) && typeof total === 'number' ? { differences, total } : null
}
