import { mergeDocument, omitFields } from '../../http/bodies/documents.ts'
import { readOnlyOf } from '../../http/read-only-fields.ts'
import type { Document } from '../../platform/json/document.ts'
import type { Cluster } from './store.ts'

/** Merges `body` into the document of a cluster. */
export function mergeCluster(before: Document, body: Document): Document {
  return mergeDocument(before, omitFields(body, readOnlyOf('Mxcluster')))
}

/** Returns the cluster's name for the audit log; clusters need no name. */
export function titleOf({ id, doc }: Cluster): string {
  const { name } = doc
  return `edge appliance cluster "${typeof name === 'string' ? name : id}"`
}
