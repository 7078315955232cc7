import { supportUploadUrl } from '../../src/devices/support/file-url.ts'
import type { TestServer } from './server.ts'

export interface SupportUpload {
  readonly commandId: string
  readonly mac: string
  readonly content?: string
  /** Default: the one that the gateway sends for the command. */
  readonly url?: string
  readonly orgId?: string
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
  const form = new FormData()
  form.set('name', mac)
  form.set('data', new Blob([content]), 'bundle.tar.gz')
  const url = upload.url ?? supportUploadUrl(server.ctx, { orgId, commandId })
  const answer = await fetch(url, { method: 'POST', body: form })
  await answer.arrayBuffer()
  return answer.status
}
