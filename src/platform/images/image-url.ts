import type { Context } from '../context.ts'
import { AppError, notFound } from '../errors.ts'

/** The segments of the address's path, as received. */
export interface ImagePath {
  readonly name: string
  readonly expires: string
  readonly signature: string
}

const HOUR_S = 3600

/**
 * Returns the address of a stored picture, valid for one to two hours. The signature is the credential: anyone with the
 * address may read the picture, because the `<img>` of a page sends no header. It stays the same for an hour, so that a
 * page that loads it again finds the picture in the browser's cache.
 */
export function imageUrl(ctx: Pick<Context, 'secrets' | 'baseUrl' | 'clock'>, name: string): string {
  const hour = Math.floor(ctx.clock.now().getTime() / 1000 / HOUR_S)
  const path = `${name}/${(hour + 2) * HOUR_S}`
  return `${ctx.baseUrl}/images/${path}/${ctx.secrets.sign('image', path)}`
}

/**
 * @returns The picture's name, and for how long, in whole seconds, the address remains valid.
 * @throws AppError not_found for an address that was not made here; forbidden for one that has expired.
 */
export function openImageTicket(
  ctx: Pick<Context, 'secrets' | 'clock'>,
  { name, expires, signature }: ImagePath,
): { readonly name: string; readonly maxAgeS: number } {
  // The path is compared as received: only one spelling of it was ever signed.
  if (!ctx.secrets.verify('image', `${name}/${expires}`, signature)) throw notFound(name)
  const maxAgeS = Number(expires) - Math.ceil(ctx.clock.now().getTime() / 1000)
  if (maxAgeS <= 0) throw new AppError('forbidden', 'This address has expired')
  return { name, maxAgeS }
}
