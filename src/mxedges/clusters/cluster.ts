import { mergeDocument, omitFields } from '../../http/documents.ts'
import type { Document } from '../mxedge.ts'
import type { Cluster } from './store.ts'

/** What the service says of a cluster; a client that sends it back changes nothing. */
const ownFields = ['id', 'org_id', 'site_id', 'for_site', 'created_time', 'modified_time']

/** What is set of a cluster after `body`. */
export function mergeCluster(before: Document, body: Document): Document {
  return mergeDocument(before, omitFields(body, ownFields))
}

/** As people read it in the audit log; clusters need no name. */
export function titleOf({ id, doc }: Cluster): string {
  const { name } = doc
  return `edge appliance cluster "${typeof name === 'string' ? name : id}"`
}
