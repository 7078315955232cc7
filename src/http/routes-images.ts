import type { Readable } from 'node:stream'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { Context } from '../platform/context.ts'
import { notFound } from '../platform/errors.ts'
import { type ImageFiles, openImage, typeOfImage } from '../platform/images/image-files.ts'
import { openImageTicket } from '../platform/images/image-url.ts'

/** A browser that accepts no data for this long counts as gone, whatever the state of its socket. */
const IDLE_MS = 60_000

const ImageParams = Type.Object({ name: Type.String(), expires: Type.String(), signature: Type.String() })

/**
 * Serves pictures, outside /api/v1 and without credentials, because the signed path is one (image-url.ts). Register it
 * without a prefix.
 */
export function imageRoutes(ctx: Context, files: ImageFiles): FastifyPluginAsyncTypebox {
  return async (http) => {
    const sending = new Set<Readable>()
    http.addHook('preClose', async () => sending.forEach((body) => body.destroy()))

    http.route({
      method: ['GET', 'HEAD'],
      exposeHeadRoute: false,
      url: '/images/:name/:expires/:signature',
      schema: { hide: true, params: ImageParams },
      handler: async (request, reply) => {
        const { name, maxAgeS } = openImageTicket(ctx, request.params)
        const file = await openImage(files, name)
        if (file === null) throw notFound(name)
        const { size } = await file.stat()
        void reply.headers({
          'content-type': typeOfImage(name),
          'content-length': size,
          'cache-control': `private, max-age=${maxAgeS}, immutable`,
          // These bytes come from users but from our origin: the browser must treat them as an image only.
          'content-security-policy': "default-src 'none'; sandbox",
        })
        if (request.method === 'HEAD') {
          await file.close()
          return reply.send()
        }
        const body = file.createReadStream()
        sending.add(body)
        body.once('close', () => sending.delete(body))
        reply.raw.setTimeout(IDLE_MS)
        return reply.send(body)
      },
    })
  }
}
