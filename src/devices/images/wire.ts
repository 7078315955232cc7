import { Type } from 'typebox'

export const ImageNumber = Type.Integer({ minimum: 1, maximum: 3 })
