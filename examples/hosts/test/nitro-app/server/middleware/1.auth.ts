import { defineEventHandler, getHeader } from "h3-v1"; // an app imports them from "h3", or not at all

export default defineEventHandler((event) => {
  const id = getHeader(event, "x-user");
  if (id !== undefined) event.context["user"] = { id };
});
