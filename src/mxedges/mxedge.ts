import type { Selectable } from 'kysely'
import type { EventMxedge } from '../events/append-mxedge.ts'
import { mergeDocument, omitFields } from '../http/documents.ts'
import { omitSecrets } from '../orgs/secrets.ts'
import { invalidField } from '../platform/errors.ts'
import type { MxedgeTable } from './tables.ts'

/** As it is stored. */
export type Mxedge = Selectable<MxedgeTable>

/** In wire shape. */
export type Document = Readonly<Record<string, unknown>>

/** What a client decides of an edge appliance; `doc` is what Signalbox only keeps. */
export interface MxedgeContent {
  readonly name: string
  readonly model: string
  readonly mxclusterId: string | null
  readonly doc: Document
}

/** What the service says of an appliance; a client that sends it back changes nothing. */
const ownFields = [
  'id',
  'org_id',
  'site_id',
  'for_site',
  'magic',
  'mac',
  'serial',
  'mxagent_registered',
  'tunterm_registered',
  'versions',
  'image1_url',
  'image2_url',
  'image3_url',
  'created_time',
  'modified_time',
]

/**
 * What an appliance is after `body`: on creation, where `before` is null, as on update.
 * @throws AppError invalid for one without a name or a model.
 */
export function mergeMxedge(before: MxedgeContent | null, body: Document): MxedgeContent {
  const merged = mergeDocument(before === null ? {} : documentOf(before), omitFields(body, ownFields))
  const { name, model, mxcluster_id: mxclusterId, ...doc } = merged
  if (typeof name !== 'string') throw invalidField('name', 'is required')
  if (typeof model !== 'string') throw invalidField('model', 'is required')
  return { name, model, mxclusterId: typeof mxclusterId === 'string' ? mxclusterId : null, doc }
}

/** What was set, in wire shape. */
export function documentOf({ name, model, mxclusterId, doc }: MxedgeContent): Document {
  return { ...doc, name, model, ...(mxclusterId !== null && { mxcluster_id: mxclusterId }) }
}

/** For the audit log. */
export function auditDocument(content: MxedgeContent): Record<string, unknown> {
  return omitSecrets(documentOf(content))
}

export function mxedgeOfEvent({ id, name, mac, mxclusterId, siteId }: Mxedge): EventMxedge {
  return { id, name, mac, mxclusterId, siteId }
}

/** As people read it in the audit log. */
export function titleOf({ name }: Pick<Mxedge, 'name'>): string {
  return `edge appliance "${name}"`
}
