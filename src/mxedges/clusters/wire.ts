import { type Static, Type } from 'typebox'
import { Timestamp, Uuid, named } from '../../http/schemas.ts'
import { epochS } from '../../platform/time/clock.ts'
import { type Reveal, presentSecrets } from '../../orgs/secrets/secrets.ts'
import { clusterFields, kept } from '../wire-documents.ts'
import type { Cluster } from './store.ts'

/** The rest of a cluster's document is stored as received. */
export const ClusterBody = named(
  'MxclusterUpdate',
  Type.Object(
    {
      name: kept(Type.String({ maxLength: 200 })),
      site_id: kept(Type.String({ format: 'uuid', description: 'stored without effect' })),
      ...clusterFields,
    },
    { additionalProperties: true },
  ),
)

export const ClusterReply = named(
  'Mxcluster',
  Type.Object(
    {
      id: Uuid,
      org_id: Uuid,
      site_id: Type.Optional(Type.String({ format: 'uuid', description: 'as set by a person' })),
      for_site: Type.Boolean({ description: 'always false: clusters belong to organizations' }),
      created_time: Timestamp,
      modified_time: Timestamp,
    },
    { additionalProperties: true },
  ),
)

/** @param reveal False presents the other secrets as unset. */
export function presentCluster(
  { id, orgId, doc, createdAt, modifiedAt }: Cluster,
  reveal: Reveal,
): Static<typeof ClusterReply> {
  const { site_id: siteId, ...rest } = presentSecrets(doc, reveal)
  return {
    ...rest,
    ...(typeof siteId === 'string' && { site_id: siteId }),
    id,
    org_id: orgId,
    for_site: false,
    created_time: epochS(createdAt),
    modified_time: epochS(modifiedAt),
  }
}
