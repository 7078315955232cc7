import type { Context } from '../../platform/context.ts'
import { AppError, notFound } from '../../platform/errors.ts'

export interface DownloadTicket {
  readonly orgId: string
  readonly commandId: string
  readonly imageId: string
}

/** The segments of the address's path, as received. */
export interface DownloadPath {
  readonly org_id: string
  readonly command_id: string
  readonly image_id: string
  readonly expires: string
  readonly signature: string
}

/**
 * Returns the address at which the device of one command gets its image until `expiresAt` (whole seconds). The
 * signature is the credential: anyone with the address may download. It consists of unreserved characters and slashes
 * only, because devices put it into a shell command (uCentral protocol, `upgrade.uri`).
 */
export function firmwareDownloadUrl(
  ctx: Pick<Context, 'secrets' | 'baseUrl'>,
  { orgId, commandId, imageId }: DownloadTicket,
  expiresAt: Date,
): string {
  const path = [orgId, commandId, imageId, Math.floor(expiresAt.getTime() / 1000)].join('/')
  return `${ctx.baseUrl}/firmware/${path}/${ctx.secrets.sign('firmware', path)}`
}

/** @throws AppError not_found for an address that was not made here; forbidden for one that has expired. */
export function openDownloadTicket(ctx: Pick<Context, 'secrets' | 'clock'>, path: DownloadPath): DownloadTicket {
  const { org_id: orgId, command_id: commandId, image_id: imageId, expires, signature } = path
  // The path is compared as received: only one spelling of it was ever signed.
  if (!ctx.secrets.verify('firmware', [orgId, commandId, imageId, expires].join('/'), signature))
    throw notFound(imageId)
  if (Number(expires) * 1000 <= ctx.clock.now().getTime()) throw new AppError('forbidden', 'This address has expired')
  return { orgId, commandId, imageId }
}
