import { type Static, type TSchema, Type } from 'typebox'
import { checkOf } from '../../platform/json/check-of.ts'

/** The calls of devices that can do more than stock uCentral, and how a device offers them. */

const Serial = Type.String({ pattern: '^[0-9a-fA-F]{12}$' })
const ShortText = Type.String({ maxLength: 256 })

/** A member of a Virtual Chassis. Stock devices have none. */
export const Member = Type.Object({
  member: Type.Integer({ minimum: 0, maximum: 9 }),
  mac: Type.String({ pattern: '^[0-9a-f]{12}$' }),
  serial: ShortText,
  model: ShortText,
  firmware: ShortText,
})

/** Capabilities beyond stock uCentral. A call that is not advertised is never sent. */
export const Extension = Type.Object({
  protocol: Type.Literal(1),
  /** Names without the prefix, such as `reboot`. */
  methods: Type.Array(ShortText, { maxItems: 32 }),
  members: Type.Optional(Type.Array(Member, { maxItems: 10 })),
  /** The version that `restore_backup` boots; null: the device has none; absent: it doesn't know. */
  backup_version: Type.Optional(Type.Union([Type.String({ minLength: 1, maxLength: 64 }), Type.Null()])),
})

/** Reboots one member of a Virtual Chassis or one node of a cluster; exactly one of the two is present. */
const RebootPart = Type.Object({
  serial: Serial,
  member: Type.Optional(Type.Integer({ minimum: 0, maximum: 9 })),
  node: Type.Optional(Type.Union([Type.Literal('node0'), Type.Literal('node1')])),
})
export type RebootPart = Static<typeof RebootPart>

const Sha256 = Type.String({ pattern: '^[0-9a-f]{64}$' })

/** Downloads the image and stores it for `activate`. The reply follows when the hash of the whole file matches. */
const Stage = Type.Object({
  serial: Serial,
  uri: Type.String({ minLength: 1, maxLength: 2048 }),
  sha256: Sha256,
  'use-local-certificates': Type.Optional(Type.Literal(true)),
})

/** Installs the image that was staged, on every member, and reboots after the reply. */
const Activate = Type.Object({ serial: Serial, sha256: Sha256 })

/** Boots the firmware that the device ran before: `version`, if the device has named it. */
const RestoreBackup = Type.Object({ serial: Serial, version: Type.Optional(Type.String({ maxLength: 64 })) })

/** Updates the recovery system. The reply follows when that is done. */
export const Snapshot = Type.Object({ serial: Serial })

/** The names are without the prefix. */
const calls = {
  reboot: RebootPart,
  stage: Stage,
  activate: Activate,
  restore_backup: RestoreBackup,
  snapshot: Snapshot,
} as const satisfies Record<string, TSchema>
export type ExtensionMethod = keyof typeof calls
export type ExtensionCall = { readonly [M in ExtensionMethod]: Static<(typeof calls)[M]> }

/** The shape of the params by method, as on the wire. */
export const extensionCalls = {
  'x-signalbox.reboot': RebootPart,
  'x-signalbox.stage': Stage,
  'x-signalbox.activate': Activate,
  'x-signalbox.restore_backup': RestoreBackup,
  'x-signalbox.snapshot': Snapshot,
} as const satisfies Record<`x-signalbox.${ExtensionMethod}`, TSchema>

export const extensionChecks = {
  'x-signalbox.reboot': checkOf(RebootPart),
  'x-signalbox.stage': checkOf(Stage),
  'x-signalbox.activate': checkOf(Activate),
  'x-signalbox.restore_backup': checkOf(RestoreBackup),
  'x-signalbox.snapshot': checkOf(Snapshot),
} satisfies Record<keyof typeof extensionCalls, unknown>

export function isExtensionMethod(name: string): name is ExtensionMethod {
  return Object.hasOwn(calls, name)
}
