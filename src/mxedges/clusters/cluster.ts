import { mergeDocument, omitFields } from '../../http/documents.ts'
import type { Document } from '../../platform/document.ts'
import type { Cluster } from './store.ts'

/** Fields that the service sets itself; a client that sends them back changes nothing. */
const ownFields = ['id', 'org_id', 'for_site', 'created_time', 'modified_time']

/** Merges `body` into the document of a cluster. */
export function mergeCluster(before: Document, body: Document): Document {
  return mergeDocument(before, omitFields(body, ownFields))
}

/** Returns the cluster's name for the audit log; clusters need no name. */
export function titleOf({ id, doc }: Cluster): string {
  const { name } = doc
  return `edge appliance cluster "${typeof name === 'string' ? name : id}"`
}
