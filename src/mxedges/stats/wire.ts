import { type Static, Type } from 'typebox'
import { pageQuery } from '../../http/lists.ts'
import { Timestamp, Uuid, named } from '../../http/schemas.ts'
import { omitSecrets } from '../../orgs/secrets.ts'
import type { Mxedge } from '../mxedge.ts'
import { ForSite, presentOwn } from '../wire.ts'

export const StatsQuery = Type.Object({ ...pageQuery, for_site: Type.Optional(ForSite) })

/** Values that only the agent of an appliance reports are left out. Source: contract, `stats_mxedge`. */
export const StatsReply = named(
  'MxedgeStats',
  Type.Object(
    {
      id: Uuid,
      org_id: Uuid,
      site_id: Type.Optional(Uuid),
      for_site: Type.Boolean(),
      name: Type.String(),
      model: Type.String(),
      mxcluster_id: Type.Optional(Uuid),
      mac: Type.Optional(Type.String()),
      serial: Type.Optional(Type.String()),
      status: Type.Enum(['disconnected']),
      mxagent_registered: Type.Boolean(),
      tunterm_registered: Type.Boolean(),
      fips_enabled: Type.Optional(Type.Boolean()),
      services: Type.Optional(Type.Array(Type.String())),
      created_time: Timestamp,
      modified_time: Timestamp,
    },
    { additionalProperties: true },
  ),
)

/** Parts of the configuration that statistics repeat. */
const configured = ['services', 'oob_ip_config', 'tunterm_ip_config', 'tunterm_port_config']

export function presentStats(mxedge: Mxedge): Static<typeof StatsReply> {
  const doc = omitSecrets(mxedge.doc)
  const set = configured.flatMap((name) => (doc[name] == null ? [] : [[name, doc[name]] as const]))
  const fips = fipsOf(doc['mxedge_mgmt'])
  return {
    ...Object.fromEntries(set),
    ...presentOwn(mxedge),
    ...(typeof fips === 'boolean' && { fips_enabled: fips }),
    status: 'disconnected',
  }
}

function fipsOf(management: unknown): unknown {
  return typeof management === 'object' && management !== null ? Reflect.get(management, 'fips_enabled') : undefined
}
