import { Type } from 'typebox'
import { AppError } from '../../platform/errors.ts'
import { MAX_S3_OBJECT_BYTES, type S3Settings } from '../../platform/storage/s3-store.ts'

const text = (description: string) => Type.Optional(Type.String({ description }))

/** Settings for an S3-compatible store of firmware images; part of the environment of config.ts. */
export const s3Environment = {
  SIGNALBOX_S3_BUCKET: text('store firmware images in this bucket of an S3-compatible store, not in the data folder'),
  SIGNALBOX_S3_PREFIX: text('precedes the names of the images in the bucket, such as signalbox/; default none'),
  SIGNALBOX_S3_ENDPOINT: text('URL of the store; default that of the region at AWS'),
  SIGNALBOX_S3_REGION: text('default us-east-1'),
  SIGNALBOX_S3_PATH_STYLE: Type.Optional(
    Type.Enum(['true', 'false'], {
      description: 'true: the bucket is in the path of the URL; default true with SIGNALBOX_S3_ENDPOINT',
    }),
  ),
  SIGNALBOX_S3_ACCESS_KEY_ID: text('credentials; default as the AWS variables and files of the process say'),
  SIGNALBOX_S3_SECRET_ACCESS_KEY: text('the secret of SIGNALBOX_S3_ACCESS_KEY_ID'),
}

const S3 = Type.Object(s3Environment)
type Env = Type.Static<typeof S3>

/**
 * Null: images are stored in the data folder.
 * @param maxBytes Limit of a single image.
 * @throws AppError invalid naming the setting.
 */
export function parseS3Settings(env: Env, maxBytes: number): S3Settings | null {
  const { SIGNALBOX_S3_BUCKET: bucket, SIGNALBOX_S3_ENDPOINT: endpoint } = env
  if (bucket === undefined) {
    const useless = Object.keys(s3Environment).find((name) => Reflect.get(env, name) !== undefined)
    if (useless !== undefined) throw invalid(useless, 'needs SIGNALBOX_S3_BUCKET')
    return null
  }
  if (!/^[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]$/i.test(bucket))
    throw invalid(
      'SIGNALBOX_S3_BUCKET',
      `${bucket} is not the name of a bucket, which has 3 to 63 letters, digits, dots, dashes and underscores`,
    )
  if (endpoint !== undefined && !isHttpUrl(endpoint))
    throw invalid('SIGNALBOX_S3_ENDPOINT', 'must be a URL that starts with https:// or http://')
  if (maxBytes > MAX_S3_OBJECT_BYTES)
    throw invalid('SIGNALBOX_FIRMWARE_MAX_MB', 'must be at most 5120 with SIGNALBOX_S3_BUCKET')
  return {
    bucket,
    prefix: env.SIGNALBOX_S3_PREFIX ?? '',
    region: env.SIGNALBOX_S3_REGION ?? 'us-east-1',
    endpoint: endpoint ?? null,
    pathStyle: (env.SIGNALBOX_S3_PATH_STYLE ?? String(endpoint !== undefined)) === 'true',
    credentials: parseCredentials(env),
  }
}

function parseCredentials(env: Env): S3Settings['credentials'] {
  const { SIGNALBOX_S3_ACCESS_KEY_ID: accessKeyId, SIGNALBOX_S3_SECRET_ACCESS_KEY: secretAccessKey } = env
  if (accessKeyId === undefined && secretAccessKey === undefined) return null
  if (accessKeyId === undefined) throw invalid('SIGNALBOX_S3_ACCESS_KEY_ID', 'is needed with its secret')
  if (secretAccessKey === undefined) throw invalid('SIGNALBOX_S3_SECRET_ACCESS_KEY', 'is needed with its id')
  return { accessKeyId, secretAccessKey }
}

function isHttpUrl(text: string): boolean {
  const protocol = URL.parse(text)?.protocol
  return protocol === 'https:' || protocol === 'http:'
}

function invalid(name: string, why: string): AppError {
  return new AppError('invalid', `${name} ${why}`)
}
