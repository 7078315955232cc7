import { addMs } from '../../platform/time/clock.ts'
import type { Context } from '../../platform/context.ts'
import { AppError, notFound } from '../../platform/errors.ts'

/** The purpose of an address. An address for uploads does not allow reading, and vice versa. */
type Purpose = 'upload' | 'read'

/** The file of a command. */
export interface SupportTicket {
  readonly orgId: string
  readonly commandId: string
}

/** The segments of the address's path, as received. */
export interface SupportPath {
  readonly org_id: string
  readonly command_id: string
  readonly expires: string
  readonly signature: string
}

/** A device may collect for ten minutes, and has as long again for the upload. */
const UPLOAD_MS = 20 * 60_000
const READ_MS = 60 * 60_000

/**
 * Returns the address to which the device of one command may upload one file. The signature is the credential. It
 * consists of unreserved characters and slashes only, because devices put it into a command line.
 */
export function supportUploadUrl(ctx: UrlContext, ticket: SupportTicket): string {
  return urlOf(ctx, 'upload', { ...ticket, expiresAt: addMs(ctx.clock.now(), UPLOAD_MS) })
}

/** Returns an address whose holder may read the file for an hour. */
export function supportReadUrl(ctx: UrlContext, ticket: SupportTicket): string {
  return urlOf(ctx, 'read', { ...ticket, expiresAt: addMs(ctx.clock.now(), READ_MS) })
}

type UrlContext = Pick<Context, 'secrets' | 'baseUrl' | 'clock'>

function urlOf(
  ctx: UrlContext,
  purpose: Purpose,
  { orgId, commandId, expiresAt }: SupportTicket & { readonly expiresAt: Date },
): string {
  const path = [orgId, commandId, Math.floor(expiresAt.getTime() / 1000)].join('/')
  return `${ctx.baseUrl}/support-files/${path}/${ctx.secrets.sign('support', `${purpose} ${path}`)}`
}

/** @throws AppError not_found for an address that was not made here for the purpose; forbidden for one that has expired. */
export function openSupportTicket(
  ctx: Pick<Context, 'secrets' | 'clock'>,
  purpose: Purpose,
  { org_id: orgId, command_id: commandId, expires, signature }: SupportPath,
): SupportTicket {
  // The path is compared as received: only one spelling of it was ever signed.
  if (!ctx.secrets.verify('support', `${purpose} ${[orgId, commandId, expires].join('/')}`, signature))
    throw notFound(commandId)
  if (Number(expires) * 1000 <= ctx.clock.now().getTime()) throw new AppError('forbidden', 'This address has expired')
  return { orgId, commandId }
}
