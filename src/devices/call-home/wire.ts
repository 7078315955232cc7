import { type Static, Type } from 'typebox'
import { Timestamp, Uuid, named } from '../../http/schemas.ts'
import { epochS } from '../../platform/time/clock.ts'
import { invalidField } from '../../platform/errors.ts'
import { parseFingerprint } from './fingerprint.ts'
import type { HostKey } from './store.ts'

/** Source: contract, `JunosRegisterCmd`. */
export const JunosCommandsReply = named(
  'JunosCommands',
  Type.Object({ cmd: Type.String({ description: 'configuration commands, one a line; they contain the secret' }) }),
)

export const JunosCommandsQuery = Type.Object({
  site_id: Type.Optional(Type.String({ description: 'a site of the organization; the commands are the same for all' })),
})

const isUuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** @throws AppError invalid naming `site_id`. */
export function parseCommandsSite({ site_id: siteId }: Static<typeof JunosCommandsQuery>): string | null {
  if (siteId === undefined || siteId === '') return null
  if (!isUuid.test(siteId)) throw invalidField('site_id', `${siteId} is not a UUID`)
  return siteId.toLowerCase()
}

const MAX_KEYS = 20

export const HostKeysBody = named(
  'DeviceHostKeysUpdate',
  Type.Object({
    keys: Type.Array(
      Type.String({ maxLength: 2000, description: 'a public key in the format of OpenSSH, or its fingerprint' }),
      { maxItems: MAX_KEYS },
    ),
  }),
)

export const HostKeysReply = named(
  'DeviceHostKeys',
  Type.Object({
    device_id: Uuid,
    keys: Type.Array(Type.Object({ fingerprint: Type.String(), created_time: Timestamp })),
  }),
)

/** @returns Distinct fingerprints. @throws AppError invalid naming the key. */
export function parseHostKeys({ keys }: Static<typeof HostKeysBody>): string[] {
  const fingerprints = keys.map((key, index) => {
    const fingerprint = parseFingerprint(key)
    if (fingerprint !== null) return fingerprint
    const shown = key.slice(0, 60)
    throw invalidField(`keys.${index}`, `${shown} is neither a public key such as ssh-ed25519 AAAA... nor SHA256:...`)
  })
  return [...new Set(fingerprints)]
}

export function presentHostKeys(deviceId: string, keys: readonly HostKey[]): Static<typeof HostKeysReply> {
  const known = keys.map(({ fingerprint, createdAt }) => ({ fingerprint, created_time: epochS(createdAt) }))
  return { device_id: deviceId, keys: known }
}
