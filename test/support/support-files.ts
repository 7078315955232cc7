import { uuidv7 } from 'uuidv7'
import { systemScope } from '../../src/access/scope.ts'
import { supportUploadUrl } from '../../src/devices/support/file-url.ts'
import { insertCommand } from '../../src/mxedges/commands/store.ts'
import { inTx } from '../../src/platform/database/db.ts'
import type { TestServer } from './servers/server.ts'

export interface SupportUpload {
  readonly commandId: string
  readonly mac: string
  readonly content?: string
  /** Default: the one that the gateway sends for the command. */
  readonly url?: string
  readonly orgId?: string
}

/** Posts a support file. @returns The status of the answer. */
export async function postSupportFile(url: string, name: string, content: string): Promise<number> {
  const form = new FormData()
  form.set('name', name)
  form.set('data', new Blob([content]), 'bundle.tar.gz')
  const answer = await fetch(url, { method: 'POST', body: form })
  await answer.arrayBuffer()
  return answer.status
}

/** Queues a support command to an edge appliance and uploads a file for it. @returns The id of both. */
export async function addSupportFile(
  { ctx }: TestServer,
  { orgId, mxedgeId }: { readonly orgId: string; readonly mxedgeId: string },
): Promise<string> {
  const id = uuidv7()
  const at = ctx.clock.now()
  const row = { kind: 'support', params: {}, id, mxedgeId, createdAt: at, expiresAt: at } as const
  await inTx(ctx, (tx) => insertCommand(tx, systemScope('gateway', orgId), row))
  await ctx.db.updateTable('mxedgeCommand').set({ state: 'done', finishedAt: at }).where('id', '=', id).execute()
  const status = await postSupportFile(supportUploadUrl(ctx, { orgId, commandId: id }), mxedgeId, 'diagnostics')
  if (status !== 200) throw new Error(`The upload got ${status}`)
  return id
}

/** Marks a support command as sent and uploads a file for it, as its device does. @returns The status of the answer. */
export async function uploadSupportFile(server: TestServer, upload: SupportUpload): Promise<number> {
  const { commandId, mac, content = 'diagnostics', orgId = server.org.orgId } = upload
  const at = server.ctx.clock.now()
  await server.ctx.db
    .updateTable('deviceCommand')
    .set({ state: 'sent', sentAt: at })
    .where('id', '=', commandId)
    .where('state', '=', 'queued')
    .execute()
  const url = upload.url ?? supportUploadUrl(server.ctx, { orgId, commandId })
  return postSupportFile(url, mac, content)
}
