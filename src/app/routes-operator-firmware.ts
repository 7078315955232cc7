import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FirmwareFiles } from '../firmware/firmware.ts'
import { moveNextImage } from '../firmware/move-images.ts'
import type { Context } from '../platform/context.ts'

/** What the operator does with the firmware of all organizations. */
export function operatorFirmwareRoutes(ctx: Context, files: FirmwareFiles): FastifyPluginAsyncTypebox {
  return async (http) => {
    // One image at a time, so that no answer takes longer than a connection may be silent.
    http.post('/firmware/move', { schema: { hide: true } }, async () => moveNextImage(ctx, files))
  }
}
