import { AppError } from '../platform/errors.ts'

/** Names the setting to change when a port is in use or forbidden. */
export function listenError(error: unknown, setting: string, port: number): unknown {
  if (!(error instanceof Error) || !('code' in error)) return error
  if (error.code === 'EADDRINUSE') return new AppError('unavailable', `port ${port} is in use; set ${setting}`)
  if (error.code === 'EACCES') return new AppError('unavailable', `port ${port} needs more rights; set ${setting}`)
  if (error.code === 'EADDRNOTAVAIL')
    return new AppError('unavailable', 'SIGNALBOX_HOST is not an address of this machine')
  return error
}
