import { addSite } from '../support/fleets/devices.ts'
import type { TestServer } from '../support/servers/server.ts'
import { makeAccounts } from './accounts.ts'
import type { Area, Ids, MakeArea, Samples } from './area.ts'
import { makeDevicesArea } from './devices.ts'
import { makeInstaller } from './installer.ts'
import { makeMaps } from './maps.ts'
import { makeMxedges } from './mxedges.ts'
import { makeOrgs } from './orgs.ts'
import { makeUpgrades } from './upgrades.ts'
import { makeWebhooks } from './webhooks.ts'

/** The areas in the order of their creation: each may use the objects of earlier areas. */
const areas: readonly MakeArea[] = [
  makeOrgs,
  makeDevicesArea,
  makeMxedges,
  makeMaps,
  makeInstaller,
  makeUpgrades,
  makeWebhooks,
  makeAccounts,
]

export interface Areas {
  readonly ids: Ids
  /** Samples of every operation on an object of an organization, in an order in which they succeed. */
  readonly samples: Samples
}

/** Creates one object of every kind in the server's first organization. */
export async function makeAreas(server: TestServer): Promise<Areas> {
  const ids: Record<string, string> = { org_id: server.org.orgId, site_id: await addSite(server) }
  const made: Area[] = []
  for (const make of areas) {
    const area = await make(server, ids)
    made.push(area)
    Object.assign(ids, area.ids)
  }
  const parts = [...made.map((area) => area.samples), ...made.map((area) => area.removals ?? {}).toReversed()]
  return { ids, samples: Object.assign({}, ...parts) }
}
