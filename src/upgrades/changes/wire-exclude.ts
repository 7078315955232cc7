import { type Static, Type } from 'typebox'
import { plainMac } from '../../devices/device.ts'
import { named } from '../../http/schemas.ts'
import { textOf } from '../../http/texts.ts'
import type { Exclusion } from './exclude-devices.ts'
import { SkippedReply, presentSkipped } from './wire-skipped.ts'

/** Each excluded device repeats the note. */
export const NoteField = Type.Optional(textOf('visible', { minLength: 1, maxLength: 200, description: 'Why' }))

export const ExcludeBody = named(
  'UpgradeExclusionCreate',
  Type.Object({ macs: Type.Array(textOf('mac'), { minItems: 1, maxItems: 10_000 }), note: NoteField }),
)

export const ExcludeReply = named(
  'UpgradeExclusion',
  Type.Object({
    excluded: Type.Integer({ description: 'How many devices have left the upgrade' }),
    skipped: SkippedReply,
  }),
)

export function parseExclusion({ macs, note }: Static<typeof ExcludeBody>): {
  readonly macs: readonly string[]
  readonly note: string | null
} {
  return { macs: macs.map(plainMac), note: note ?? null }
}

export function presentExclusion({ excluded, skipped }: Exclusion): Static<typeof ExcludeReply> {
  return { excluded, skipped: presentSkipped(skipped) }
}
