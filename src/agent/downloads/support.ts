import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { ParamsOf } from '../../gateway/edge/messages.ts'
import { type Appliance, NotExecuted } from '../appliance.ts'
import type { RoleParts } from '../role.ts'

/** A machine that can collect support files. */
export interface SupportedMachine extends Pick<Appliance, 'collectSupport'> {
  /** The machine's name for Signalbox, in the form. */
  readonly name: string
}

/**
 * Collects support files and uploads them. A command that a crash has interrupted collects and uploads again; the server
 * keeps the file that arrived first.
 */
export async function uploadSupport(
  { folder, upload, onPoint }: Pick<RoleParts, 'folder' | 'upload' | 'onPoint'>,
  machine: SupportedMachine,
  { command_id, uri }: ParamsOf<'support'>,
): Promise<string> {
  if (!URL.canParse(uri) || !/^https?:\/\//i.test(uri))
    throw new NotExecuted('The address for the upload is not http or https')
  const path = join(folder, `support-${command_id}`)
  try {
    await machine.collectSupport(path)
    onPoint('support collected')
    await upload({ uri, path, name: machine.name })
    onPoint('support uploaded')
  } finally {
    await rm(path, { force: true })
  }
  return 'uploaded support files'
}
