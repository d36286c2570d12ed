// The controller of both apps.
import { Controller, Get } from "@nestjs/common";

@Controller()
export class HelloController {
  @Get("hello") hello(): string {
    return "hello";
  }
  @Get("bye") bye(): string {
    return "bye";
  }
}
