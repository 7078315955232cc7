import type pg from 'pg'
import type { ApartEnd, ApartLocked, ApartRequest } from '../../http/apart/messages.ts'
import type { Limits } from '../../platform/limits.ts'
import type { LogLevel } from '../../platform/log.ts'
import type { TimeReading } from '../../platform/time/service-clock.ts'
import type { WakeMessage } from '../gateway/gateway-messages.ts'

/** The start data of the process of expensive requests. */
export interface ApartData {
  readonly connection: pg.PoolConfig
  /** True if the server runs the database, so that it may lower the priority of its processes. */
  readonly lowersBackends: boolean
  /** The folder with the key of the installation. */
  readonly dataDir: string
  readonly logLevel: LogLevel
  readonly limits: Limits
  readonly baseUrl: string
  readonly time: TimeReading
}

export interface ApartStart {
  readonly kind: 'start'
  readonly data: ApartData
}

export interface RequestApart {
  readonly kind: 'request'
  readonly id: number
  readonly request: ApartRequest
  /** The service time, which the process follows. */
  readonly time: TimeReading
}

export type ToApart = ApartStart | RequestApart | { readonly kind: 'stop' }

export type FromApart =
  | { readonly kind: 'end'; readonly id: number; readonly end: ApartEnd | ApartLocked }
  | WakeMessage
  | { readonly kind: 'log'; readonly line: string }
