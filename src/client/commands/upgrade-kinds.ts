import { type Api, type JsonObject, objectOf } from '../api.ts'
import { CommandError } from '../exit-codes.ts'
import { textOf } from '../output.ts'

/** The kinds of upgrades: what they upgrade and one of it, and where their operations are. */
export const upgradeKinds = {
  device: { what: 'devices', unit: 'device', path: '/devices/upgrade' },
  ssr: { what: 'SSR routers', unit: 'router', path: '/ssr/upgrade' },
  mxedge: { what: 'edge appliances', unit: 'appliance', path: '/mxedges/upgrade' },
} as const satisfies Record<
  string,
  {
    readonly what: string
    readonly unit: string
    readonly path: string
  }
>
export type UpgradeKind = keyof typeof upgradeKinds

export interface FoundUpgrade {
  readonly kind: UpgradeKind
  /** That of the whole upgrade, also if it was found by that of its part at a site. */
  readonly id: string
  /** The channel of upgrades of the kind. */
  readonly channel: string
  /** Its path, to which those of its actions are added. */
  readonly path: string
  /** Its row in the list of all kinds. */
  readonly row: JsonObject
}

/**
 * Finds an upgrade of any kind.
 * @param place The organization, or the site where only its part is concerned: "/sites/ID".
 * @throws CommandError refused if there is none.
 */
export async function findUpgrade(api: Api, place: string, id: string): Promise<FoundUpgrade> {
  const name = encodeURIComponent(id)
  const row = objectOf(await api.get(`/api/v1${place}/upgrades/${name}`))
  const named = textOf(row['kind'])
  if (!isKind(named))
    throw new CommandError('failed', `upgrade ${id} has the kind ${JSON.stringify(named)}, which is new`)
  const channel = `${place}${upgradeKinds[named].path}`
  return { kind: named, id: textOf(row['id']), channel, path: `/api/v1${channel}/${name}`, row }
}

function isKind(name: string): name is UpgradeKind {
  return Object.hasOwn(upgradeKinds, name)
}
