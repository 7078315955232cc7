declare module '@20minutes/s3rver' {
  import type { Server } from 'node:http'

  /** The part of the package that the tests use; it has no types of its own. */
  export default class S3rver {
    constructor(options: {
      readonly address: string
      readonly port: number
      readonly silent: boolean
      readonly directory: string
      readonly vhostBuckets: boolean
      readonly allowMismatchedSignatures: boolean
      readonly configureBuckets: readonly { readonly name: string; readonly configs: readonly string[] }[]
    })
    httpServer: Server
    run(): Promise<{ readonly port: number }>
    close(): Promise<void>
  }
}
