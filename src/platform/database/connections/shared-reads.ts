import type { OnReadOpts, Socket } from 'node:net'

const MAX_READ_BYTES = 64 * 1024

/**
 * Sockets with these options read into one buffer, and get what has arrived as a buffer of its size. Node otherwise allocates
 * 64 KiB for each read, and frees them as soon as it knows that less has arrived. The program's settings of malloc map blocks
 * of that size: a read then costs two more system calls and several page faults. After `pause()` only `resume()`
 * or `read()` reads on; a listener of `readable` alone does not.
 */
export const sharedReads: OnReadOpts = {
  buffer: Buffer.allocUnsafeSlow(MAX_READ_BYTES),
  callback(this: Socket, count, bytes) {
    // The next read of any socket overwrites the bytes.
    return this.push(Buffer.from(bytes.subarray(0, count)))
  },
}
