import { createError, defineEventHandler } from "h3-v1";

export default defineEventHandler(() => {
  throw createError({ statusCode: 418 });
});
