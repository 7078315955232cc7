import type { Document } from '../platform/json/document.ts'
import type { Selectable } from 'kysely'
import type { EventMxedge } from '../events/append-mxedge.ts'
import { assertUnchanged, mergeDocument, omitFields } from '../http/bodies/documents.ts'
import { readOnlyOf } from '../http/read-only-fields.ts'
import { omitSecrets } from '../orgs/secrets/secrets.ts'
import { invalidField } from '../platform/errors.ts'
import type { MxedgeTable } from './tables.ts'

/** The stored form. */
export type Mxedge = Selectable<MxedgeTable>

/** The part of an edge appliance that clients set. Signalbox stores `doc` without acting on it. */
export interface MxedgeContent {
  readonly name: string
  readonly model: string
  readonly mxclusterId: string | null
  readonly doc: Document
}

/**
 * Merges `body` into an appliance; `before` is null on creation.
 * @throws AppError invalid for an appliance without a name or a model.
 */
export function mergeMxedge(before: (MxedgeContent & Pick<Mxedge, 'mac'>) | null, body: Document): MxedgeContent {
  assertUnchanged({ mac: before?.mac }, body, {
    fields: ['mac'],
    why: "can't be changed: it is that of the hardware",
  })
  // A client that changes an appliance right after its claim doesn't know its model yet, and sends an empty text.
  const ownFields = readOnlyOf('Mxedge')
  const unset = before !== null && body['model'] === '' ? ['model', ...ownFields] : ownFields
  const merged = mergeDocument(before === null ? {} : documentOf(before), omitFields(body, unset))
  const { name, model, mxcluster_id: mxclusterId, mac: _, ...doc } = merged
  if (typeof name !== 'string') throw invalidField('name', 'is required')
  if (typeof model !== 'string') throw invalidField('model', 'is required')
  return { name, model, mxclusterId: typeof mxclusterId === 'string' ? mxclusterId : null, doc }
}

/** Returns the configured document, in wire shape. */
function documentOf({ name, model, mxclusterId, doc }: MxedgeContent): Document {
  return { ...doc, name, model, ...(mxclusterId !== null && { mxcluster_id: mxclusterId }) }
}

/** Returns the appliance in the form that the audit log shows. */
export function auditDocument(content: MxedgeContent): Record<string, unknown> {
  return omitSecrets(documentOf(content))
}

export function mxedgeOfEvent({ id, name, mac, mxclusterId, siteId }: Mxedge): EventMxedge {
  return { id, name, mac, mxclusterId, siteId }
}

/** Returns the appliance's name for the audit log. */
export function titleOf({ name }: Pick<Mxedge, 'name'>): string {
  return `edge appliance "${name}"`
}
