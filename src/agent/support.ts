import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { ParamsOf } from '../gateway/edge/messages.ts'
import { type Appliance, NotExecuted } from './appliance.ts'
import { readCredentials } from './register.ts'
import type { RoleParts } from './role.ts'

/**
 * Collects support files and uploads them. A command that a crash has interrupted collects and uploads again; the server
 * keeps the file that arrived first.
 */
export async function uploadSupport(
  { folder, state, upload, onPoint }: RoleParts,
  appliance: Appliance,
  { command_id, uri }: ParamsOf<'support'>,
): Promise<string> {
  if (!/^https?:\/\//i.test(uri)) throw new NotExecuted('The address for the upload is not http or https')
  const name = (await readCredentials(state))?.mxedge_id ?? ''
  const path = join(folder, `support-${command_id}`)
  try {
    await appliance.collectSupport(path)
    onPoint('support collected')
    await upload({ uri, path, name })
    onPoint('support uploaded')
  } finally {
    await rm(path, { force: true })
  }
  return 'uploaded support files'
}
